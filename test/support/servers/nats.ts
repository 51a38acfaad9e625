import { createConnection } from 'node:net'
import { freePort } from './free-port.ts'
import { nats, programsOf } from './needed.ts'
import { noteUse } from './run-servers.ts'
import { Supervisor } from './supervisor.ts'

export interface NatsServer extends AsyncDisposable {
  readonly url: string
  /** Ends it at once, as a crash does. */
  kill(): Promise<void>
  freeze(): Promise<void>
  thaw(): Promise<void>
  /** Starts it again on the same port, with the data it has. */
  start(): Promise<void>
  /** Removes its data, while it is down. */
  wipe(): Promise<void>
  stop(): Promise<void>
}

/** The only user that a server lets in, and a subject that it may not publish to. Read at each start. */
export interface NatsLogin {
  user: string
  password: string
  denied?: string
}

/** Starts a NATS with JetStream on a free port, with its data in a temporary folder. */
export async function startNats(login?: NatsLogin): Promise<NatsServer> {
  const program = programsOf(nats)
  const supervisor = await Supervisor.start('nats')
  const port = await freePort()
  let data = 0
  const start = async () => {
    const access = login ? ['-c', supervisor.write('nats.conf', configOf(login))] : []
    const folder = `${supervisor.folder}/data-${data}`
    await supervisor.start(program, ['-a', '127.0.0.1', '-p', String(port), '-js', '-sd', folder, ...access])
    await noteUse(nats, await supervisor.ready(() => versionAt(port)))
  }
  await start()
  const stop = () => supervisor.remove()
  return {
    url: `nats://127.0.0.1:${port}`,
    kill: async () => void (await supervisor.end('SIGKILL')),
    freeze: () => supervisor.signalAll('SIGSTOP'),
    thaw: () => supervisor.signalAll('SIGCONT'),
    start,
    wipe: async () => void data++,
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

function configOf({ user, password, denied }: NatsLogin): string {
  const permissions = denied === undefined ? '' : `, permissions: { publish: { deny: ["${denied}"] } }`
  return `authorization { users = [{ user: "${user}", password: "${password}"${permissions} }] }`
}

/** The version that the server greets with. */
function versionAt(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(port, '127.0.0.1')
    socket.once('error', reject)
    socket.once('data', (data) => {
      socket.destroy()
      const { version } = JSON.parse(
        String(data)
          .replace(/^INFO /, '')
          .split('\r\n')[0] ?? '{}',
      ) as { version?: string }
      if (version) resolve(version)
      else reject(new Error(`Not the greeting of NATS: ${data}`))
    })
  })
}
