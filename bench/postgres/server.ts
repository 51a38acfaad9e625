// The PostgreSQL instance that all contestants share, one after the other. The measurements start it; the processes
// they start learn of it from their environment.
import { type Postgres, type PostgresSettings, startPostgres } from '../../test/support/servers/postgres.ts'

/** Beside these, PostgreSQL's defaults. A checkpoint now and then would fall upon one contestant and not upon another. */
const settings: PostgresSettings = {
  shared_buffers: '512MB',
  max_wal_size: '4GB',
  checkpoint_timeout: '1h',
  fsync: true,
  synchronous_commit: true,
}

const urlName = 'BENCH_POSTGRES_URL'
const pidName = 'BENCH_POSTGRES_PID'

export async function startServer(): Promise<Postgres> {
  const server = await startPostgres({ settings })
  process.env[urlName] = server.url
  process.env[pidName] = String(server.pid)
  return server
}

export function describeServer({ version }: Postgres): string {
  const values = Object.entries(settings).map(([name, value]) => `${name} ${value === true ? 'on' : value}`)
  return `PostgreSQL ${version} (${values.join(', ')})`
}

/** Of the database that is always there. */
export function serverUrl(): string {
  return fromEnvironment(urlName)
}

export function serverPid(): number {
  return Number(fromEnvironment(pidName))
}

function fromEnvironment(name: string): string {
  const value = process.env[name]
  if (!value) throw new Error('No server was started for the measurements')
  return value
}
