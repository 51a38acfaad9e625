import type { NodeConnectionOptions } from '@nats-io/transport-node'
import { checkOptions, checkWhole } from '../../model/limits.ts'
import { type DurationInput, parseDuration } from '../../time/duration.ts'

/** The options of `nats`. */
export interface NatsOptions {
  /** `nats://user:password@host:4222`, or several. */
  servers?: string | readonly string[]
  /** More for the client of `@nats-io/transport-node`: TLS, credentials, a token. */
  connection?: NodeConnectionOptions
  /** The copies of each stream that is made. Default 1; 3 keeps messages when a server of a cluster is lost. */
  replicas?: number
  /** A message that is not answered for this long is delivered again. Default 30 s. */
  ackWait?: DurationInput
  /** How long topics that are made keep messages. Default 7 days. */
  retention?: DurationInput
  /** A message id that comes again within this time is dropped. Default 2 minutes. */
  duplicateWindow?: DurationInput
}

export interface ParsedNatsOptions {
  readonly connection: NodeConnectionOptions
  readonly replicas: number
  readonly ackWaitMs: number
  readonly retentionMs: number
  readonly duplicateWindowMs: number
}

const names = ['servers', 'connection', 'replicas', 'ackWait', 'retention', 'duplicateWindow'] as const

export function parseNatsOptions(given: string | NatsOptions): ParsedNatsOptions {
  const options: NatsOptions = typeof given === 'string' ? { servers: given } : given
  checkOptions(options, names, 'nats')
  const { servers = 'nats://127.0.0.1:4222' } = options
  const urls = typeof servers === 'string' ? servers.split(',') : servers
  return {
    connection: { ...credentialsOf(urls[0] ?? ''), ...options.connection, servers: urls.map(hostOf) },
    replicas: checkWhole(options.replicas ?? 1, 'replicas', 1, 5),
    ackWaitMs: parseDuration(options.ackWait ?? '30s', 'ackWait', 100),
    retentionMs: parseDuration(options.retention ?? '7d', 'retention', 1000),
    duplicateWindowMs: parseDuration(options.duplicateWindow ?? '2m', 'duplicateWindow', 100),
  }
}

/** The client takes credentials as options, not in the URL. */
function credentialsOf(url: string): { user?: string; pass?: string; token?: string } {
  const parsed = URL.parse(url)
  if (!parsed?.username) return {}
  const user = decodeURIComponent(parsed.username)
  return parsed.password ? { user, pass: decodeURIComponent(parsed.password) } : { token: user }
}

function hostOf(url: string): string {
  return url.trim().replace(/^(\w+:\/\/)[^@/]*@/, '$1')
}
