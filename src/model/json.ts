// Types and JSON: a payload must survive it unchanged, and a result has the type that JSON leaves of it.

type Primitive = string | number | boolean | null

/** The compiler shows this type for a part of a payload that JSON would drop or change. */
export interface DoesNotSurviveJson<_Value> {
  readonly error: 'a payload is stored as JSON: use strings, numbers, booleans, null, arrays and plain objects'
}

/** The type itself where a value of it survives JSON unchanged. Other parts are replaced, so the compiler names them. */
export type PlainJson<Value> = [Value] extends [Survivor<Value>] ? Value : Survivor<Value>

type Survivor<Value> = unknown extends Value
  ? Value
  : Value extends Primitive | undefined
    ? Value
    : Value extends bigint | symbol | ((...args: never[]) => unknown) | { toJSON(): unknown } | Collection
      ? DoesNotSurviveJson<Value>
      : Value extends object
        ? { [Key in keyof Value]: Survivor<Value[Key]> }
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

/** The type after writing a value as JSON and reading it again: a Date becomes a string. */
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
