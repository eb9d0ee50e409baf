// Object prototype locale.
// expect: returned -1
async function run(params) {
  Object.prototype.sv = Object.prototype.numeric = Object.prototype.sensitivity = true;
  return "a".localeCompare("b", "en");
}
