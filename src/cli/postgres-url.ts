import { PunctualError } from '../errors.ts'
import type { PostgresOptions } from '../store/postgres/index.ts'
import { didYouMean } from './config/suggestion.ts'

const flags = ['prepare', 'createTables'] as const
const own: readonly string[] = ['schema', 'listenUrl', ...flags]
/** The parameters that the driver knows. */
const driverOwn: readonly string[] = [
  'host',
  'port',
  'user',
  'password',
  'database',
  'application_name',
  'fallback_application_name',
  'client_encoding',
  'options',
  'ssl',
  'sslmode',
  'sslcert',
  'sslkey',
  'sslrootcert',
  'sslnegotiation',
  'uselibpqcompat',
  'connect_timeout',
  'keepalives',
  'keepalives_idle',
  'statement_timeout',
  'query_timeout',
  'lock_timeout',
  'idle_in_transaction_session_timeout',
  'target_session_attrs',
  'channel_binding',
  'encoding',
  'replication',
]

/** Where a postgres:// URL leads, for the driver, and the options of the store that stand among its parameters. */
export function splitPostgresUrl(text: string): { readonly url: string; readonly options: PostgresOptions } {
  const url = parse(text)
  const unknown = [...url.searchParams.keys()].find((name) => !own.includes(name) && !driverOwn.includes(name))
  if (unknown !== undefined)
    throw invalid(
      `The store URL has no parameter ${JSON.stringify(unknown.slice(0, 80))}.${didYouMean(unknown, [...own, ...driverOwn])} The store takes ${own.join(', ')}, and the driver ${driverOwn.join(', ')}`,
    )
  const given = Object.fromEntries([...url.searchParams].filter(([name]) => own.includes(name)))
  for (const name of Object.keys(given)) url.searchParams.delete(name)
  const { schema, listenUrl } = given
  return {
    url: textOf(url),
    options: {
      ...(schema !== undefined && { schema }),
      ...(listenUrl !== undefined && { listenUrl: listenUrl === 'false' ? false : listenUrl }),
      ...Object.fromEntries(flags.filter((name) => given[name] !== undefined).map((name) => [name, isTrue(name, given[name])])),
    },
  }
}

/** The URL as it may be shown: without a password, be it before the host or among the parameters. */
export function shownPostgresUrl(text: string): string {
  const url = parse(text)
  const schema = url.searchParams.get('schema')
  url.password = ''
  url.search = schema === null ? '' : `?schema=${encodeURIComponent(schema)}`
  return textOf(url)
}

// A user without a host, as with a socket that `?host=` names, is known to the driver but not to the standard.
const noHost = 'no-host.invalid'
const textOf = (url: URL) => url.href.replace(`@${noHost}/`, '@/')

function parse(text: string): URL {
  try {
    return new URL(text.replace('@/', `@${noHost}/`))
  } catch {
    // The text is not repeated, nor is the error kept: both may hold a password.
    throw invalid('The store URL cannot be read; write postgres://user:password@host:5432/database, with %40 for @ in a password')
  }
}

function isTrue(name: string, text: string | undefined): boolean {
  if (text === 'true' || text === 'false') return text === 'true'
  throw invalid(`In the store URL ${name} must be true or false`)
}

function invalid(message: string): PunctualError {
  return new PunctualError('config.invalid', message, { field: 'store', scheme: 'postgres' })
}
