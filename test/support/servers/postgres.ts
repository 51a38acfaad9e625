import { join } from 'node:path'
import { startOnFreePort } from './free-port.ts'
import { postgres as needed } from './needed.ts'
import { makePostgresTemplate, type PostgresTemplate, superuser } from './postgres-template.ts'
import { queryOnce } from './query-once.ts'
import { askRun, noteUse } from './run-servers.ts'
import { Supervisor } from './supervisor.ts'

/** PostgreSQL's own settings by name, as in postgresql.conf. Other settings have PostgreSQL's defaults, fsync included. */
export type PostgresSettings = Readonly<Record<string, string | number | boolean>>

export interface PostgresOptions {
  readonly settings?: PostgresSettings
  /** A prepared data folder; when left out, the one of the test run, or of this process. */
  readonly template?: PostgresTemplate
}

/** For tests that do not ask what a crash of the machine leaves. To compile a plan takes longer than all that a test does with it. */
export const fastSettings: PostgresSettings = { fsync: false, synchronous_commit: false, full_page_writes: false, jit: false }

/** Starts a separate instance in a temporary folder. It never outlives our process, however that ends. */
export async function startPostgres({ settings = {}, template }: PostgresOptions = {}): Promise<Postgres> {
  const from = template ?? (await preparedTemplate())
  const supervisor = await Supervisor.start('postgres', 'SIGQUIT')
  await supervisor.run('cp', ['-R', from.data, join(supervisor.folder, 'data')])
  return Postgres.start(supervisor, from, settings)
}

/** Starts an instance that follows `primary`, with the primary's settings unless told otherwise, and read-only until promoted. */
export async function startStandby(primary: Postgres, { settings = {} }: PostgresOptions = {}): Promise<Postgres> {
  const supervisor = await Supervisor.start('postgres', 'SIGQUIT')
  const data = join(supervisor.folder, 'data')
  const args = ['--write-recovery-conf', '--wal-method=stream', '--checkpoint=fast', '--no-sync']
  await supervisor.run(join(primary.template.programs, 'pg_basebackup'), [`--dbname=${primary.url}`, `--pgdata=${data}`, ...args])
  // Left alone, a standby waits for five seconds before it looks again for a primary that was away.
  const impatient = { wal_retrieve_retry_interval: '100ms' }
  return Postgres.start(supervisor, primary.template, { ...impatient, ...primary.settings, ...settings })
}

let template: Promise<PostgresTemplate> | undefined

/** The one of the test run, or one for this process when it is started by hand. */
function preparedTemplate(): Promise<PostgresTemplate> {
  template ??= askRun<PostgresTemplate>('postgres-template').then((shared) => shared ?? makePostgresTemplate())
  return template
}

const stopSignals = { smart: 'SIGTERM', fast: 'SIGINT', immediate: 'SIGQUIT' } as const

/** A PostgreSQL server that belongs to a test. */
export class Postgres implements AsyncDisposable {
  readonly template: PostgresTemplate
  readonly #supervisor: Supervisor
  #settings: PostgresSettings
  #port = 0
  #version = ''
  #wasKilled = false

  static async start(supervisor: Supervisor, template: PostgresTemplate, settings: PostgresSettings): Promise<Postgres> {
    const postgres = new Postgres(supervisor, template, settings)
    await startOnFreePort(supervisor, (port) => postgres.#start(port))
    await noteUse(needed, postgres.version)
    return postgres
  }

  private constructor(supervisor: Supervisor, template: PostgresTemplate, settings: PostgresSettings) {
    this.#supervisor = supervisor
    this.template = template
    this.#settings = settings
  }

  /** Of the database `postgres`, as superuser. */
  get url(): string {
    return this.urlOf('postgres')
  }

  urlOf(database: string): string {
    return `postgres://${superuser}:${this.template.password}@127.0.0.1:${this.#port}/${database}`
  }

  get port(): number {
    return this.#port
  }

  /** The folder that holds its `data`, its `log` and its socket. */
  get folder(): string {
    return this.#supervisor.folder
  }

  /** Of the postmaster; null when it does not run. */
  get pid(): number | null {
    return this.#supervisor.pid
  }

  /** As `15.13`. */
  get version(): string {
    return this.#version
  }

  /** The settings it was started with. */
  get settings(): PostgresSettings {
    return this.#settings
  }

  /** `smart` waits for clients to leave, `fast` sends them away, `immediate` leaves recovery to the next start. */
  async stop(mode: keyof typeof stopSignals = 'fast'): Promise<void> {
    if (this.pid !== null) await this.#supervisor.end(stopSignals[mode])
  }

  /** Ends it and all its processes without a chance to write anything: SIGKILL. */
  async kill(): Promise<void> {
    this.#wasKilled ||= this.pid !== null
    await this.#supervisor.signalAll('SIGKILL')
  }

  /** Stops it if it runs, and starts it with the same data on the same port. New settings add to the old. */
  async restart(settings: PostgresSettings = {}): Promise<void> {
    await this.stop()
    this.#settings = { ...this.#settings, ...settings }
    await this.#start(this.#port)
  }

  /** Stops all its processes where they are (SIGSTOP): connections stay, and nothing answers. */
  async freeze(): Promise<void> {
    await this.#supervisor.signalAll('SIGSTOP')
  }

  async thaw(): Promise<void> {
    await this.#supervisor.signalAll('SIGCONT')
  }

  /** Makes a standby the primary; resolves when it takes writes. */
  async promote(): Promise<void> {
    await this.query('SELECT pg_promote(true, 60)')
  }

  /** Runs one statement on a new connection. */
  query<Row extends object>(text: string, values?: unknown[]): Promise<readonly Row[]> {
    return queryOnce<Row>(this.url, text, values)
  }

  /** The end of what it has written to its log. */
  log(): string {
    return this.#supervisor.log()
  }

  /** Ends it and removes its folder. */
  async remove(): Promise<void> {
    if (this.#wasKilled && this.pid === null) await this.#freeSharedMemory()
    await this.#supervisor.remove()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.remove()
  }

  async #start(port: number): Promise<void> {
    this.#port = port
    const place = { port, listen_addresses: '127.0.0.1', unix_socket_directories: this.folder }
    const settings = Object.entries({ ...this.#settings, ...place }).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    await this.#supervisor.start(this.#program, ['-D', this.#data, ...settings])
    this.#wasKilled = false
    const ask = `SELECT split_part(current_setting('server_version'), ' ', 1) AS version`
    const [row] = await this.#supervisor.ready(() => this.query<{ version: string }>(ask))
    this.#version = row?.version ?? ''
  }

  /** A killed server leaves shared memory, which its next start frees. This start has no clients and stops at once. */
  async #freeSharedMemory(): Promise<void> {
    await this.#supervisor.run(this.#program, ['--single', '-D', this.#data, 'postgres']).catch(() => {})
  }

  get #data(): string {
    return join(this.folder, 'data')
  }

  get #program(): string {
    return join(this.template.programs, 'postgres')
  }
}
