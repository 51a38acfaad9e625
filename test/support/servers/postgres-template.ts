import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { postgres, programsOf } from './needed.ts'
import { Supervisor } from './supervisor.ts'

/** A data folder that initdb has prepared. Copying it takes a tenth of the time that initdb takes. */
export interface PostgresTemplate {
  /** PostgreSQL's programs that made it. */
  readonly programs: string
  readonly data: string
  readonly password: string
}

export const superuser = 'punctual'

/**
 * Prepares a data folder that lasts as long as our process. A password is needed even on the loopback: a superuser of
 * PostgreSQL can start programs, and other users of the machine can reach the port. pgbouncer knows the password in the
 * clear, which is all it needs for SCRAM on both sides.
 */
export async function makePostgresTemplate(): Promise<PostgresTemplate> {
  const programs = programsOf(postgres)
  const supervisor = await Supervisor.start('postgres-template')
  const password = randomBytes(16).toString('hex')
  const passwordFile = supervisor.write('password', password)
  const data = join(supervisor.folder, 'data')
  const access = ['--auth=scram-sha-256', `--username=${superuser}`, `--pwfile=${passwordFile}`]
  // Databases in use mostly sort by the rules of a language, so a store that relies on byte order fails here.
  const language = ['--encoding=UTF8', '--locale=C', '--locale-provider=icu', '--icu-locale=en-US']
  await supervisor.run(join(programs, 'initdb'), ['--no-sync', `--pgdata=${data}`, ...access, ...language])
  return { programs, data, password }
}
