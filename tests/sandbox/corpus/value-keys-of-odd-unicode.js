// Keys of odd unicode.
// expect: returned {"": 1, "\u0000": 2, "\u2028": 3, "\ud83d\ude00": 4, "a\"b\\": 5, "\ufeff": 6, "\u202e": 7}
// args: [{"": 1, "\u0000": 2, "\u2028": 3, "\ud83d\ude00": 4, "a\"b\\": 5, "\ufeff": 6, "\u202e": 7}]
async function run(params) {
  return await echo({ "": 1, "\0": 2, "\u2028": 3, "😀": 4, 'a"b\\': 5, "\ufeff": 6, "\u202e": 7 });
}
