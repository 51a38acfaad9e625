// Checks of a set-up. Each finds one thing, and says what to do about it.
import type { WireOutput } from '../http/wire.ts'
import { sqliteVersion } from '../store/sqlite/connection/node-sqlite.ts'
import { type Connection, type ConnectionFlags, withConnection } from './connection.ts'
import { counted } from './print.ts'
import { postgresOf, sqlitePathOf } from './store-url.ts'

/** The result of one check. */
export interface Finding {
  readonly state: 'ok' | 'warn' | 'fail'
  readonly subject: string
  readonly message: string
  readonly advice: string | null
}

type Nodes = WireOutput<'nodes.list'>

const slowMs = 100
const skew = { warnMs: 1000, failMs: 30_000 }
/** Connections that one node may open: its pools for verbs and works, and the one that listens. */
const connectionsPerNode = 20

const ok = (subject: string, message: string): Finding => ({ state: 'ok', subject, message, advice: null })
const warn = (subject: string, message: string, advice: string): Finding => ({ state: 'warn', subject, message, advice })
const fail = (subject: string, message: string, advice: string): Finding => ({ state: 'fail', subject, message, advice })

/** Checks a store, or what a server knows. A store that does not answer ends the checks. */
export async function diagnose(place: ConnectionFlags): Promise<readonly Finding[]> {
  const before = await schemaFindings(place)
  if (before.some(({ state }) => state === 'fail')) return before
  try {
    return [...before, ...(await withConnection(place, findings))]
  } catch (error) {
    const { message } = error as Error
    return [...before, fail('store', message, 'Check the address, the network and the rights of the user')]
  }
}

async function findings(connection: Connection): Promise<readonly Finding[]> {
  const sent = Date.now()
  const server = await connection.call('server.get')
  const between = (sent + Date.now()) / 2
  const nodes = await connection.call('nodes.list')
  const jobs = await connection.call('jobs.list', { query: { limit: 1 } })
  return [
    storeFinding(server),
    clockFinding(Date.parse(server.now) - between),
    ...nodeFindings(nodes),
    ...jobFindings(jobs.marks ?? {}),
    server.dead === 0
      ? ok('dead', 'Nothing waits for a person')
      : warn('dead', `${counted(server.dead, 'occurrence')} failed for good`, 'See them by cause: punctual dead groups'),
  ]
}

async function schemaFindings({ store }: ConnectionFlags): Promise<readonly Finding[]> {
  if (store === undefined) return []
  try {
    const place = await postgresOf(store)
    if (!place) return sqliteFindings(sqlitePathOf(store))
    const { from, to } = await place.migrate(place.url, { ...place.options, dryRun: true })
    const schema =
      from === to
        ? ok('schema', `PostgreSQL is at schema ${to}`)
        : fail('schema', `PostgreSQL is at schema ${from}, this release needs ${to}`, 'Run punctual migrate')
    return [schema, ...(from === to ? [await poolFinding(place.url)] : [])]
  } catch (error) {
    return [fail('store', (error as Error).message, 'Check the address, the network and the rights of the user')]
  }
}

function sqliteFindings(path: string | null): readonly Finding[] {
  const { text, isShareable, sharedSince } = sqliteVersion()
  return [
    ok('schema', path === null ? 'memory: has no file' : `${path} is brought to the schema of this release when it is opened`),
    isShareable
      ? ok('sqlite', `SQLite ${text}`)
      : warn('sqlite', `SQLite ${text} lets only one process use a file`, `Use a Node.js with SQLite ${sharedSince} or later`),
  ]
}

async function poolFinding(url: string): Promise<Finding> {
  const { countConnections } = await import('../store/postgres/connection/connection-count.ts')
  const { most, used } = await countConnections(url)
  const text = `${used} of ${most} connections are used; a node opens at most ${connectionsPerNode}`
  return most - used >= connectionsPerNode
    ? ok('pool', text)
    : warn('pool', text, 'Raise max_connections, or put a pooler such as pgbouncer in front')
}

function storeFinding({ store, version }: WireOutput<'server.get'>): Finding {
  const text = `${store.name} answers in ${store.latencyMs} ms (Punctual ${version})`
  return store.latencyMs <= slowMs
    ? ok('store', text)
    : warn('store', text, 'Run nodes near their database: each claim waits for it')
}

function clockFinding(skewMs: number): Finding {
  const size = Math.round(Math.abs(skewMs))
  const text = `The clock of this machine is ${size} ms ${skewMs > 0 ? 'behind' : 'ahead of'} that of the store`
  const advice = 'Synchronise both with NTP; the clock of the store decides what is due'
  if (size > skew.failMs) return fail('clock', text, advice)
  return size > skew.warnMs ? warn('clock', text, advice) : ok('clock', text)
}

function nodeFindings({ items, unserved }: Nodes): readonly Finding[] {
  const live = items.filter(({ beating }) => beating)
  const open = live.filter(({ draining }) => !draining)
  const several = (values: readonly string[]) => [...new Set(values)]
  const versions = several(live.map(({ version }) => version))
  const zones = several(live.map(({ timezone }) => timezone))
  const start = 'Start one: punctual serve, or a process of yours that calls start()'
  return [
    open.length > 0
      ? ok('nodes', `${open.length} of ${counted(items.length, 'node')} ${open.length === 1 ? 'takes' : 'take'} work`)
      : live.length > 0
        ? warn('nodes', live.length === 1 ? 'The only node drains' : `All ${live.length} nodes drain`, start)
        : warn('nodes', 'No node is running', start),
    ...(versions.length > 1 ? [warn('versions', `Nodes run ${versions.join(' and ')}`, 'Finish the deployment')] : []),
    ...(zones.length > 1
      ? [warn('zones', `Nodes default to ${zones.join(' and ')}`, 'Give schedules a time zone, or set timezone')]
      : []),
    unserved.length === 0
      ? ok('handlers', 'Every due work has a node with its handlers')
      : fail('handlers', `No node has handlers for: ${unserved.join(', ')}`, 'Deploy them, or cancel that work'),
  ]
}

function jobFindings(marks: Readonly<Record<string, number>>): readonly Finding[] {
  const count = (mark: string) => marks[mark] ?? 0
  const drift = ['overridden', 'orphaned'].filter((mark) => count(mark) > 0).map((mark) => `${count(mark)} ${mark}`)
  return [
    count('late') === 0
      ? ok('late', 'No job is late')
      : warn(
          'late',
          count('late') === 1 ? '1 job is late' : `${count('late')} jobs are late`,
          'See them: punctual jobs --mark late; ask punctual explain',
        ),
    ...(count('failing') > 0
      ? [
          warn(
            'failing',
            count('failing') === 1 ? '1 job fails' : `${count('failing')} jobs fail`,
            'See them: punctual jobs --mark failing',
          ),
        ]
      : []),
    drift.length === 0
      ? ok('drift', 'Every job is as its code declares it')
      : warn(
          'drift',
          `Jobs differ from their code: ${drift.join(', ')}`,
          'Take changes back with punctual jobs reset, end old jobs with jobs retire',
        ),
  ]
}
