import { type Command, Option } from 'commander'
import { PunctualError } from '../../errors.ts'
import { example, storeOption } from '../options.ts'
import { print } from '../print.ts'
import { postgresOf, sqlitePathOf } from '../store-url.ts'

export function addBackup(root: Command): void {
  root
    .command('backup')
    .description('Copy a SQLite file while nodes work on it. For PostgreSQL, print the command that does it.')
    .addOption(storeOption())
    .addOption(new Option('--to <file>', 'the copy; a file that exists is not overwritten').makeOptionMandatory())
    .addHelpText('after', example('punctual backup --store sqlite:./punctual.db --to ./punctual-copy.db'))
    .action(async ({ store, to }: { store: string; to: string }) => {
      const place = await postgresOf(store)
      if (place) return print(dump(place.options.schema ?? 'punctual', to))
      const path = sqlitePathOf(store)
      if (path === null) throw new PunctualError('config.invalid', 'memory: ends with its process', { field: 'store' })
      const { backupSqlite } = await import('../../store/sqlite/backup.ts')
      await backupSqlite(path, to)
      print(`${path} was copied to ${to}`)
    })
}

/** The URL is left out: it may hold a password, and parameters that only Punctual knows. */
function dump(schema: string, to: string): string {
  return `pg_dump --format=custom --schema=${quoted(schema)} --file=${quoted(to)} --dbname="$DATABASE_URL"`
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
