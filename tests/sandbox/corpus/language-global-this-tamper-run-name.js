// Global this tamper run name.
// expect: returned 1
Object.defineProperty(globalThis, "run", { value: () => 1, configurable: true, writable: true });
