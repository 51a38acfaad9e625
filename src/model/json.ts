// What JSON makes of types: payloads must survive it as they are, results come back as it left them.

type Primitive = string | number | boolean | null

/** What the compiler shows for a part of a payload that JSON would drop or change. */
export interface DoesNotSurviveJson<_Value> {
  readonly error: 'a payload is stored as JSON: use strings, numbers, booleans, null, arrays and plain objects'
}

/** The type itself where a value of it survives JSON unchanged. Other parts are replaced, so the compiler names them. */
export type PlainJson<Value> = [Value] extends [Checked<Value>] ? Value : Checked<Value>

type Checked<Value> = unknown extends Value
  ? Value
  : Value extends Primitive | undefined
    ? Value
    : Value extends bigint | symbol | ((...args: never[]) => unknown) | { toJSON(): unknown } | Collection
      ? DoesNotSurviveJson<Value>
      : Value extends object
        ? { [Key in keyof Value]: Checked<Value[Key]> }
        : Value

type Collection =
  | ReadonlyMap<unknown, unknown>
  | ReadonlySet<unknown>
  | WeakMap<WeakKey, unknown>
  | WeakSet<WeakKey>
  | RegExp
  | Error
  | ArrayBufferView
  | ArrayBuffer

/** What a value of the type is after it has been written as JSON and read again: a Date is a string. */
export type Jsonified<Value> = unknown extends Value
  ? Value
  : // biome-ignore lint/suspicious/noConfusingVoidType: a handler that returns nothing has this type
    Value extends Primitive | undefined | void
    ? Value
    : Value extends { toJSON(): infer Written }
      ? Jsonified<Written>
      : Value extends bigint | symbol | ((...args: never[]) => unknown)
        ? undefined
        : Value extends readonly unknown[]
          ? { [Key in keyof Value]: Jsonified<Value[Key]> }
          : Value extends object
            ? { [Key in keyof Value as Value[Key] extends (...args: never[]) => unknown ? never : Key]: Jsonified<Value[Key]> }
            : Value
