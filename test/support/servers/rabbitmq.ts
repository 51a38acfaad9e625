import { execFile } from 'node:child_process'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import process from 'node:process'
import { promisify } from 'node:util'
import { freePort } from './free-port.ts'
import { programsOf, rabbitmq } from './needed.ts'
import { noteUse } from './run-servers.ts'
import { serverUser } from './server-user.ts'
import { Supervisor } from './supervisor.ts'

export interface RabbitmqServer extends AsyncDisposable {
  readonly url: string
  /** Ends it at once, as a crash does, with the queues it has made by then on disk. */
  kill(): Promise<void>
  /** Keeps its connections, and answers nothing. */
  freeze(): Promise<void>
  thaw(): Promise<void>
  /** Starts it again on the same port, with the data it has. */
  start(): Promise<void>
  /** Removes its data, while it is down. */
  wipe(): Promise<void>
  /** Runs `rabbitmqctl`. */
  ctl(...args: string[]): Promise<void>
  stop(): Promise<void>
}

/**
 * Starts a separate RabbitMQ: node name, ports, data, log and plugins are those of a temporary folder. It has its own port mapper
 * too, since the one that Erlang starts would outlive it. `login`: its only user; read at each start without data.
 */
export async function startRabbitmq(login = { user: 'guest', password: 'guest' }): Promise<RabbitmqServer> {
  const programs = programsOf(rabbitmq)
  const program = join(programs, 'rabbitmq-server')
  // No signal that it knows: its script would leave the port mapper behind. A server that does not end is killed with its children.
  const supervisor = await Supervisor.start('rabbitmq', 'SIGCONT')
  const [port, dist, epmd] = [await freePort(), await freePort(), await freePort()]
  supervisor.write('plugins', '[].\n')
  let data = 0
  const variables = () => environment(supervisor.folder, { port, dist, epmd, data })
  const start = async () => {
    supervisor.write('server.conf', `default_user = ${login.user}\ndefault_pass = ${login.password}\n`)
    const command = `epmd -port ${epmd} -address 127.0.0.1 & exec ${program}`
    await supervisor.start('/bin/sh', ['-c', command], variables())
    await noteUse(rabbitmq, await supervisor.ready(() => versionAt(port)))
  }
  await start()
  const end = () => supervisor.signalAll('SIGKILL')
  const ctl = async (...args: string[]) => {
    const env = { PATH: process.env.PATH, HOME: supervisor.folder, ...variables() }
    await promisify(execFile)(join(programs, 'rabbitmqctl'), args, { env, ...serverUser() })
  }
  const kill = async () => {
    await ctl(...keepQueues)
    await end()
  }
  const stop = async () => {
    await end()
    await supervisor.remove()
  }
  return {
    url: `amqp://${login.user}:${login.password}@127.0.0.1:${port}`,
    kill,
    freeze: () => supervisor.signalAll('SIGSTOP'),
    thaw: () => supervisor.signalAll('SIGCONT'),
    ctl,
    start,
    wipe: async () => void data++,
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

/**
 * RabbitMQ 3.10 may forget a queue that was made just before a kill, and its messages with it, confirmed or not: the log of
 * definitions is then not on disk yet. The tests are about messages, so the log is written first.
 */
const keepQueues = ['eval', 'disk_log:sync(latest_log).']

function environment(folder: string, { port, dist, epmd, data }: Record<'port' | 'dist' | 'epmd' | 'data', number>) {
  return {
    RABBITMQ_NODENAME: `punctual-${port}@localhost`,
    RABBITMQ_NODE_IP_ADDRESS: '127.0.0.1',
    RABBITMQ_NODE_PORT: String(port),
    RABBITMQ_DIST_PORT: String(dist),
    ERL_EPMD_PORT: String(epmd),
    ERL_EPMD_ADDRESS: '127.0.0.1',
    RABBITMQ_MNESIA_BASE: join(folder, `data-${data}`),
    RABBITMQ_LOG_BASE: folder,
    RABBITMQ_LOGS: '-',
    RABBITMQ_PID_FILE: join(folder, 'pid'),
    RABBITMQ_CONFIG_FILE: join(folder, 'server.conf'),
    RABBITMQ_CONF_ENV_FILE: join(folder, 'none'),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, 'plugins'),
  }
}

/** The version that the server greets with. */
function versionAt(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(port, '127.0.0.1', () => socket.write('AMQP\0\0\x09\x01'))
    socket.setTimeout(2000, () => socket.destroy(new Error('RabbitMQ does not greet')))
    socket.once('error', reject)
    socket.once('end', () => reject(new Error('RabbitMQ is not ready')))
    socket.once('data', (data) => {
      socket.destroy()
      const version = /version.....([\d.]+)/s.exec(data.toString('latin1'))?.[1]
      if (version) resolve(version)
      else reject(new Error('Not the greeting of RabbitMQ'))
    })
  })
}
