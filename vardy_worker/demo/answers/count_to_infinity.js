async function run(params) {
  let number = 0;
  for (;;) {
    number += 1;
  }
  return number;
}
