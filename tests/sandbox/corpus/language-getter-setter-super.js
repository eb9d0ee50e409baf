// Getter setter super.
// expect: returned ["child of base", 6]
async function run(params) {
  class B { who() { return "base"; } get n() { return 3; } }
  class C extends B { who() { return "child of " + super.who(); } get n() { return super.n * 2; } }
  return [new C().who(), new C().n];
}
