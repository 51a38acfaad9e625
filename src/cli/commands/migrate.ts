import { type Command, Option } from 'commander'
import { PunctualError } from '../../errors.ts'
import type { Migrated } from '../../store/postgres/index.ts'
import { example, jsonOption, storeOption } from '../options.ts'
import { print, printJson } from '../print.ts'
import { postgresOf } from '../store-url.ts'

interface MigrateFlags {
  store: string
  json?: true
  dryRun?: boolean
}

export function addMigrate(root: Command): void {
  root
    .command('migrate')
    .description('Make the tables of a PostgreSQL store, or bring them to the schema of this release.')
    .addOption(storeOption())
    .addOption(new Option('--dry-run', 'print the SQL that would be run, and change nothing'))
    .addOption(jsonOption())
    .addHelpText(
      'after',
      example(
        'punctual migrate --store postgres://owner@localhost/app',
        'punctual migrate --dry-run --store postgres://owner@localhost/app > upgrade.sql',
      ),
    )
    .action(async ({ store, json, dryRun = false }: MigrateFlags) => {
      const place = await postgresOf(store)
      if (!place) throw migratesItself()
      const { migrate, url, options } = place
      const schema = options.schema ?? 'punctual'
      const migrated = await migrate(url, { ...options, dryRun })
      if (json) return printJson({ schema, ...migrated, dryRun })
      print(dryRun ? script(schema, migrated) : summary(schema, migrated))
    })
}

function migratesItself(): PunctualError {
  const message =
    'Only a postgres:// store is migrated by command; a SQLite file is brought up by the first process that opens it'
  return new PunctualError('config.invalid', message, { field: 'store', allowed: 'postgres://user@host/database' })
}

function summary(schema: string, { from, to }: Migrated): string {
  return from === to ? `schema ${schema} is at ${to}: nothing to do` : `schema ${schema}: ${from} → ${to}`
}

/** A script for psql: one commit, as the command itself makes it. */
function script(schema: string, { from, to, statements }: Migrated): string {
  const title = `-- schema ${schema}: ${from} → ${to}`
  return statements.length === 0 ? `${title}, nothing to do` : `${title}\nBEGIN;\n${statements.join(';\n')};\nCOMMIT;`
}
