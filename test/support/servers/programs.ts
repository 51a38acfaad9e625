import { accessSync, constants, globSync, realpathSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import process from 'node:process'

const postgresPrograms = ['postgres', 'initdb', 'pg_basebackup']

/** The folder of PostgreSQL's programs: the one on the PATH, else the newest that Debian has put beside each other. */
export function findPostgres(): string | null {
  const debian = globSync('/usr/lib/postgresql/*/bin').sort((a, b) => version(b) - version(a))
  // A program on the PATH may be a link; its neighbours lie where the link leads.
  const onPath = find('postgres', pathFolders())
  const folders = onPath === null ? debian : [dirname(realpathSync(onPath)), ...debian]
  return folders.find((folder) => postgresPrograms.every((name) => isProgram(join(folder, name)))) ?? null
}

/** pgbouncer's program. Debian puts it where only root's PATH leads. */
export function findPgbouncer(): string | null {
  return find('pgbouncer', [...pathFolders(), '/usr/sbin', '/usr/local/sbin'])
}

/** A browser that tests drive. */
export function findChromium(): string | null {
  const folders = pathFolders()
  return find('chromium', folders) ?? find('chromium-browser', folders) ?? find('google-chrome', folders)
}

/** Prometheus' tool that checks metrics and rules. */
export function findPromtool(): string | null {
  return find('promtool', pathFolders())
}

/** The program of NATS. */
export function findNats(): string | null {
  return find('nats-server', [...pathFolders(), '/usr/sbin', '/usr/local/sbin'])
}

/** The folder of RabbitMQ's scripts: those on the PATH are wrappers that need a certain user. */
export function findRabbitmq(): string | null {
  const folders = globSync('/usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin')
  const onPath = find('rabbitmq-server', pathFolders())
  if (onPath !== null) folders.push(dirname(realpathSync(onPath)))
  return folders.find((folder) => isProgram(join(folder, 'rabbitmq-server'))) ?? null
}

function version(folder: string): number {
  return Number(folder.split('/').at(-2)) || 0
}

function find(name: string, folders: readonly string[]): string | null {
  return folders.map((folder) => join(folder, name)).find(isProgram) ?? null
}

function pathFolders(): readonly string[] {
  return (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
