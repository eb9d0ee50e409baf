// Errors that the prelude throws into programs, and what it says of errors that programs throw.

const TEXT_MAX = 1000;
const CAUSES_MAX = 16;
const GROUP_MAX = 64;
/** Errors looked at for the call that is to blame. */
const SEARCHED_MAX = 256;

/** Error → its `execution.*` code, for errors that the prelude made. */
const codes = new WeakMapType();

/** Error → id of the call that failed with it. */
const callErrors = new WeakMapType();

/** Thrown by the prelude to itself when a value ends the program: never seen by a program. */
const ends = new WeakMapType();

function codedError(code, name, message) {
  const error = new ErrorType(message);
  hide(error, "name", name);
  weakSet(codes, error, code);
  return error;
}

const placeholderError = (what) =>
  codedError(
    "execution.placeholder",
    "PlaceholderError",
    what +
      " is the result of a write, which does not exist before the plan is committed: " +
      "pass it, or a property of it, as an argument of a later write, or return it",
  );

const missingError = (what, instead) =>
  codedError("execution.missing", "MissingError", what + " does not exist here: " + instead);

const valueError = (message) => codedError("execution.value", "ValueError", message);

// The globals of `missing.json`, which models reach for, stay undefined, so that `typeof` checks tell
// the truth; a program that dies of their absence is told what to do instead.
const notDefined = new RegExpType("^'?([A-Za-z_$][A-Za-z0-9_$]*)'? is not defined$");

function isObject(value) {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

/** A property of a thrown value, or undefined where reading it throws. */
function peek(object, name) {
  if (!isObject(object) || isPlaceholder(object)) return undefined;
  try {
    return object[name];
  } catch {
    return undefined;
  }
}

function peekText(object, name) {
  const value = peek(object, name);
  return typeof value === "string" ? slice(wellFormed(value), 0, TEXT_MAX) : "";
}

/** Where a stack trace first names the program: `[line, column]`, from 1; zeros when it does not. */
function place(stack) {
  const found = newList();
  found[0] = 0;
  found[1] = 0;
  if (typeof stack !== "string") return found;
  let at = indexOf(stack, PROGRAM_MARK);
  if (at < 0) return found;
  at += PROGRAM_MARK.length;
  for (let part = 0; part < 2; part++) {
    let code = charCode(stack, at);
    while (code >= 48 && code <= 57) {
      found[part] = found[part] * 10 + (code - 48);
      // A program may write its own stack trace.
      if (found[part] > PLACE_MAX) found[part] = 0;
      code = charCode(stack, ++at);
    }
    if (code !== 58) break;
    at++;
  }
  return found;
}

const PROGRAM_MARK = "<input>:";
const PLACE_MAX = 1e7;

/** A stack trace from its first line in the program on. */
function programStack(stack) {
  const at = typeof stack === "string" ? indexOf(stack, PROGRAM_MARK) : -1;
  return at < 0 ? "" : slice(stack, lastIndexOf(stack, "\n", at) + 1);
}

/** The first failed call among an error, its causes and its group; -1 when `search.left` errors have none. */
function failedCall(error, search) {
  for (let i = 0; isObject(error) && i < CAUSES_MAX && search.left-- > 0; i++) {
    const id = weakGet(callErrors, error);
    if (id !== undefined) return id;
    const group = peek(error, "errors");
    if (isObject(group)) {
      const length = peek(group, "length");
      for (let j = 0; j < length && j < GROUP_MAX && search.left > 0; j++) {
        const inner = failedCall(peek(group, j), search);
        if (inner >= 0) return inner;
      }
    }
    const inner = failedCall(peek(error, "suppressed"), search);
    if (inner >= 0) return inner;
    error = peek(error, "cause") ?? peek(error, "error");
  }
  return -1;
}

function engineEnd(name, message) {
  if (name === "RangeError" && message === "Maximum call stack size exceeded") return "stack";
  if (name === "SyntaxError" && message === "stack overflow") return "stack";
  if (name === "InternalError" && (message === "out of memory" || message === "string too long")) return "memory";
  if (name === "RangeError") {
    if (message === "invalid array buffer length" || message === "invalid string length") return "memory";
    if (message === "BigInt is too large to allocate") return "memory";
  }
  return "";
}

/** What became of a program that threw this: a record for the host. */
function described(error) {
  try {
    return describedError(error);
  } catch {
    // A proxy among the causes, say, that throws whatever it is asked.
    const message = "something that cannot be looked at";
    return { __proto__: null, k: "threw", code: "execution.thrown", name: "", message, line: 0, column: 0, call: -1 };
  }
}

function describedError(error) {
  const end = { __proto__: null, k: "threw", code: "execution.thrown", name: "", message: "", line: 0, column: 0 };
  end.name = peekText(error, "name");
  end.message = peekText(error, "message");
  const limit = weakHas(ends, error) ? "" : engineEnd(end.name, end.message);
  if (limit !== "") return { __proto__: null, k: "limit", code: "execution." + limit };
  const at = place(peek(error, "stack"));
  end.line = at[0];
  end.column = at[1];
  end.call = failedCall(error, { __proto__: null, left: SEARCHED_MAX });
  if (!isObject(error) || (end.name === "" && end.message === "")) {
    end.message = shown(error, TEXT_MAX);
  }
  for (let cause = error, i = 0; isObject(cause) && i < CAUSES_MAX; cause = peek(cause, "cause"), i++) {
    const code = weakGet(codes, cause);
    if (code !== undefined) {
      end.code = code;
      break;
    }
  }
  if (end.name === "ReferenceError") explainMissing(end);
  // The engine throws null where it has no memory left to make an error.
  if (error === null) end.k = "null";
  return end;
}

const JUDGE_OFF = "The judge is off in this job. Decide in code, or have the request or the recipe say `judge: true`.";

/** The judge's functions, where the job has no judge. */
const judgeOff = { __proto__: null, ai: JUDGE_OFF, classify: JUDGE_OFF };

function explainMissing(end) {
  const match = regexExec(notDefined, end.message);
  const instead = match === null ? undefined : (missingGlobals[match[1]] ?? judgeOff[match[1]]);
  if (instead === undefined) return;
  end.code = "execution.missing";
  end.message = "`" + match[1] + "` does not exist here: " + instead;
}
