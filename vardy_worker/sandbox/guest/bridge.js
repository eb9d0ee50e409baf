// The bridge: calls of one tick go to the host together, and their replies settle together.
//
// The host calls five functions, in this order: `start(job)`, which gives a function to call;
// `step(failed, value)` with what became of that, until it gives no further one; then, whenever
// nothing is left to run, `lost(reason)` for promises rejected unseen and `collect()`; and
// `resume(message)` after calls were collected. A program sees none of them, not even below
// itself on the stack: that is why the host does the calling.
//
//   job      {source, functions, judge, params, bigs, seed, calls, args, output, console}
//   message  {replies: [[0, value] | [1, effect] | [2, code, text], …], bigs}
//   collect  "C" and for each call two lines: {id, f, line, column, refs}, and its arguments;
//            or "E" and two lines: {k, …}, and the output; "N" instead of "E" when exhausted
//            memory may be the cause: the engine then throws null, or forgets a promise's job

const VALUE = 0;
const PLACEHOLDER = 1;

const run = {
  __proto__: null,
  limits: undefined,
  names: undefined,
  calls: 0,
  outbox: newList(),
  sent: newList(),
  lost: newList(),
  params: undefined,
  loaded: false,
  unparsed: false,
  ended: false,
  failed: false,
  value: undefined,
  limit: undefined,
};

function hitLimit(code, field, allowed, value, site, index) {
  if (run.limit === undefined) {
    const at = site === undefined ? place("") : place(peek(site, "stack"));
    const name = index === undefined ? "" : run.names[index];
    const found = { __proto__: null, k: "limit", code, field, allowed, value, line: at[0], column: at[1] };
    found.function = name;
    run.limit = found;
  }
}

function checkBudget(site, index) {
  if (run.calls < run.limits.calls) return;
  hitLimit("execution.calls_budget", "calls_max", run.limits.calls, run.calls + 1, site, index);
  throw site;
}

function call(index, args) {
  // The run is lost; a program that catches that and goes on would otherwise use up its time.
  if (run.limit !== undefined) return new PromiseType(() => {});
  const site = new ErrorType();
  checkBudget(site, index);
  if (arguments.length > 2) {
    throw new TypeErrorType("`" + run.names[index] + "` takes one object of named arguments");
  }
  const encoded = encodedArguments(index, args, site);
  // Only now: arguments that cannot be encoded make no call, and their getters may have made some.
  checkBudget(site, index);
  const id = run.calls++;
  const at = place(site.stack);
  const made = { __proto__: null, id, f: index, line: at[0], column: at[1], refs: encoded.refs, text: encoded.text };
  made.site = site;
  const promise = new PromiseType((resolve, reject) => {
    made.resolve = resolve;
    made.reject = reject;
  });
  run.outbox[run.outbox.length] = made;
  return promise;
}

function encodedArguments(index, args, site) {
  try {
    return encode(args === undefined ? {} : args, "the arguments of `" + run.names[index] + "`", run.limits.args);
  } catch (error) {
    const end = isObject(error) ? weakGet(ends, error) : undefined;
    if (end === "too_large") {
      hitLimit("execution.args_too_large", "call_args_bytes_max", run.limits.args, null, site, index);
    } else if (end === "too_deep") {
      hitLimit("execution.stack", "", DEPTH_MAX, null, site, index);
    }
    throw end === undefined ? error : site;
  }
}

function defineFunctions(names) {
  for (let i = 0; i < names.length; i++) {
    const stub = bind(call, undefined, i);
    defineProperty(stub, "name", { __proto__: null, value: names[i], configurable: true });
    hide(globalThis, names[i], stub);
  }
}

/** What the judge's functions, which take their arguments by position, call them. */
const judgeArguments = {
  __proto__: null,
  classify: ["texts", "labels", "options"],
  ai: ["instruction", "data", "options"],
};

function ask(index, first, second, options) {
  const name = run.names[index];
  const names = judgeArguments[name];
  if (arguments.length > 4) {
    throw new TypeErrorType("`" + name + "` takes (" + names[0] + ", " + names[1] + ", options)");
  }
  const args = { __proto__: null };
  args[names[0]] = first;
  args[names[1]] = second;
  args[names[2]] = options;
  return call(index, args);
}

function defineJudge(names) {
  for (let i = 0; i < names.length; i++) {
    const index = run.names.length;
    run.names[index] = names[i];
    const stub = bind(ask, undefined, index);
    defineProperty(stub, "name", { __proto__: null, value: names[i], configurable: true });
    hide(globalThis, names[i], stub);
    delete judgeOff[names[i]];
  }
}

function start(job) {
  run.limits = { __proto__: null, calls: job.calls, args: job.args, output: job.output };
  run.names = job.functions;
  printed.max = job.console;
  printed.truncated = job.console <= 0;
  seedRandom(job.seed);
  restoreBigInts(job, job.bigs);
  defineFunctions(job.functions);
  defineJudge(job.judge);
  run.params = job.params;
  return bind(globalEval, undefined, job.source + "\n;run");
}

function step(failed, value) {
  if (run.loaded) {
    if (failed) end(true, value);
    else follow(value);
    return undefined;
  }
  run.loaded = true;
  run.unparsed = failed;
  if (failed) return end(true, value);
  if (typeof value !== "function") return end(true, new TypeErrorType("`run` is not a function"));
  return bind(value, undefined, run.params);
}

/** Awaits what `run` returned, by no property that a program may have changed. */
function follow(value) {
  try {
    const plain = isObject(value) && !isPlaceholder(value) && getPrototypeOf(value) === PromisePrototype;
    const promise = plain ? value : new PromiseType((done) => done(value));
    hide(promise, "constructor", undefined);
    promiseThen(
      promise,
      (given) => end(false, given),
      (error) => end(true, error),
    );
  } catch (error) {
    end(true, error);
  }
}

function end(failed, value) {
  run.ended = true;
  run.failed = failed;
  run.value = value;
}

function resume(message) {
  restoreBigInts(message.replies, message.bigs);
  const sent = run.sent;
  run.sent = newList();
  run.lost = newList();
  for (let i = 0; i < sent.length; i++) settle(sent[i], message.replies[i]);
}

function settle(made, reply) {
  if (reply[0] === VALUE) {
    made.resolve(reply[1]);
  } else if (reply[0] === PLACEHOLDER) {
    made.resolve(newPlaceholder(reply[1], "", false));
  } else {
    const error = made.site;
    hide(error, "name", indexOf(reply[1], "function.") === 0 ? "FunctionError" : "CallError");
    hide(error, "message", reply[2]);
    hide(error, "stack", programStack(error.stack));
    hide(error, "code", reply[1]);
    weakSet(callErrors, error, made.id);
    made.reject(error);
  }
}

// Told anew whenever nothing is left to run, since a later tick may still handle a rejection.
function lost(reason) {
  run.lost[run.lost.length] = reason;
}

function warnOfLost() {
  for (let i = 0; i < run.lost.length; i++) {
    const end = described(run.lost[i]);
    warn("A promise was rejected and nobody handled it: " + (end.message === undefined ? end.code : end.message));
  }
}

function collect() {
  if (run.limit !== undefined) return ending(run.limit, "");
  if (run.ended) return run.failed ? threw() : returned();
  if (run.outbox.length > 0) return collectedCalls();
  // A rejection that nobody handled is often why.
  warnOfLost();
  return ending({ __proto__: null, k: "limit", code: "execution.deadlock" }, "");
}

function ending(record, output) {
  const letter = record.k === "null" || record.code === "execution.deadlock" ? "N" : "E";
  if (record.k === "null") record.k = "threw";
  // Without a prototype a list is an array all the same.
  record.warnings = warnings;
  return letter + recordText(record) + "\n" + output;
}

function threw() {
  const record = described(run.value);
  // The engine counts the columns of errors in syntax from elsewhere than the line's begin.
  if (record.name === "SyntaxError" && run.unparsed) record.column = 0;
  return ending(record, "");
}

function unawaited() {
  const made = run.outbox[0];
  const record = { __proto__: null, k: "threw", code: "execution.unawaited_call", name: "", call: -1 };
  record.message = "`" + run.names[made.f] + "` was called but its promise was never awaited";
  record.line = made.line;
  record.column = made.column;
  return ending(record, "");
}

function returned() {
  if (run.outbox.length > 0) return unawaited();
  warnOfLost();
  let encoded;
  try {
    encoded = encode(run.value, "the output", run.limits.output);
  } catch (error) {
    const end = isObject(error) ? weakGet(ends, error) : undefined;
    if (end === undefined) return ending(described(error), "");
    if (end === "too_large") {
      hitLimit("execution.output_too_large", "output_bytes_max", run.limits.output, null);
    } else {
      hitLimit("execution.stack", "", DEPTH_MAX, null);
    }
    return ending(run.limit, "");
  }
  // Code of the value itself (a getter, toJSON) may have called functions meanwhile.
  if (run.limit !== undefined) return ending(run.limit, "");
  if (run.outbox.length > 0) return unawaited();
  return ending({ __proto__: null, k: "returned", refs: encoded.refs }, encoded.text);
}

function collectedCalls() {
  run.sent = run.outbox;
  run.outbox = newList();
  let text = "C";
  for (let i = 0; i < run.sent.length; i++) {
    const made = run.sent[i];
    const head = { __proto__: null, id: made.id, f: made.f, line: made.line, column: made.column, refs: made.refs };
    text += recordText(head) + "\n" + made.text + "\n";
    made.text = "";
  }
  return text;
}

return [start, step, resume, collect, lost];
