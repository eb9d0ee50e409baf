// Date string forms.
// expect: returned ["Thu Jan 01 1970 00:00:00 GMT+0000", "Thu, 01 Jan 1970 00:00:00 GMT", "Thu Jan 01 1970"]
async function run(params) {
  const d = new Date(0);
  return [String(d), d.toUTCString(), d.toDateString()];
}
