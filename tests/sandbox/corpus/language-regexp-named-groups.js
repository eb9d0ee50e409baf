// Regexp named groups.
// expect: returned ["2024", "02", "1/2/2024"]
async function run(params) {
  const m = /(?<y>\d{4})-(?<m>\d\d)/u.exec("on 2024-02-01");
  return [m.groups.y, m.groups.m, "2024-1-2".replace(/(?<y>\d+)-(?<m>\d)-(?<d>\d)/, "$<m>/$<d>/$<y>")];
}
