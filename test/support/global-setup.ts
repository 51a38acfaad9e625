// Runs once for all test files, in the process that starts theirs.
import { fastSettings, type Postgres, startPostgres } from './servers/postgres.ts'
import { makePostgresTemplate, type PostgresTemplate } from './servers/postgres-template.ts'
import { type RunServers, serveRun } from './servers/run-servers.ts'

let run: RunServers
let postgres: Promise<Postgres> | undefined
let template: Promise<PostgresTemplate> | undefined

export async function setup(): Promise<void> {
  const postgresTemplate = () => (template ??= makePostgresTemplate())
  const sharedPostgres = async () => {
    const settings = { ...fastSettings, max_connections: 500 }
    postgres ??= startPostgres({ settings, template: await postgresTemplate() })
    const { url } = await postgres
    return { url }
  }
  run = await serveRun({ 'postgres-template': postgresTemplate, postgres: sharedPostgres })
}

/** Prints the versions of the servers: results may differ between versions. */
export async function teardown(): Promise<void> {
  if (run.used.size > 0) console.log(`\nServers used: ${[...run.used].sort().join(', ')}`)
  run.close()
  await (await postgres?.catch(() => null))?.remove()
}
