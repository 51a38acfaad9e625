// Options that several commands have. Flags win over PUNCTUAL_* in the environment, which wins over defaults.
import { InvalidArgumentError, Option } from 'commander'

export function storeOption(): Option {
  return new Option(
    '--store <url>',
    'where the work is kept: postgres://user@host/database, sqlite:./file.db, or memory: for a trial',
  )
    .env('PUNCTUAL_STORE')
    .makeOptionMandatory()
}

export function brokerOption(use: string): Option {
  return new Option('--broker <url>', `nats://host:4222, amqp://user:password@host, or local: for a trial; ${use}`).env(
    'PUNCTUAL_BROKER',
  )
}

/** Where a command of an operation goes: to a store, or to a server with a token. */
export function placeOptions(): readonly Option[] {
  return [
    storeOption().makeOptionMandatory(false),
    new Option('--server <url>', 'instead of a store: a server, such as https://jobs.example/').env('PUNCTUAL_SERVER'),
    new Option('--token <secret>', 'the token for the server; better given as PUNCTUAL_TOKEN').env('PUNCTUAL_TOKEN'),
  ]
}

export function jsonOption(): Option {
  return new Option('--json', 'print JSON for programs')
}

export function yesOption(): Option {
  return new Option('--yes', 'do it without a question')
}

export function tenantOption(): Option {
  return new Option('--tenant <name>', 'the tenant')
}

export function byOption(): Option {
  return new Option('--by <name>', 'who asks for it; else the user of this machine')
}

/** The text below a command's help. */
export function example(...lines: readonly string[]): string {
  return `\nExample:\n${lines.map((line) => `  $ ${line}`).join('\n')}`
}

/** An option that is an instant. A day alone stands for its beginning in UTC. */
export function instantOption(flags: string, description: string): Option {
  return new Option(flags, description).argParser((text: string) =>
    /^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00Z` : text,
  )
}

/** The two kinds of keys, of which a command takes one. */
export function keyOptions(key: string, idempotencyKey: string): readonly [Option, Option] {
  return [new Option('--key <key>', key).conflicts('idempotencyKey'), new Option('--idempotency-key <key>', idempotencyKey)]
}

/** Options for the due time of new work. */
export function whenOptions(): readonly Option[] {
  return [
    new Option('--delay <duration>', "from now, such as '15m'"),
    instantOption('--run-at <instant>', 'such as 2026-11-15T06:00:00Z, or a day'),
  ]
}

/** Reads a whole number within a range, for commander. */
export function whole(min: number, max: number): (text: string) => number {
  return (text) => {
    const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    if (number >= min && number <= max) return number
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`)
  }
}

/** Reads a JSON text, for commander. */
export function json(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new InvalidArgumentError('It must be JSON, such as \'{"order": 42}\'; mind the quotes of the shell.')
  }
}
