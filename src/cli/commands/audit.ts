import { type Command, Option } from 'commander'
import type { AuditFilter } from '../../client/audits.ts'
import type { Punctual } from '../../client/punctual.ts'
import { PunctualError } from '../../errors.ts'
import { auditActions } from '../../model/audit.ts'
import { withClient } from '../client.ts'
import { example, instantOption, jsonOption, storeOption, tenantOption } from '../options.ts'
import { print, printJson } from '../print.ts'

/** `audit list` comes from the table of operations. */
export function addAudit(root: Command): void {
  const audit = root
    .command('audit')
    .description('Show who changed what and when, check it for tampering, and export it.')
    .addHelpText(
      'after',
      example(
        'punctual audit list --job report --store sqlite:./punctual.db',
        'punctual audit verify --store sqlite:./punctual.db',
      ),
    )
  addVerify(audit)
  addExport(audit)
}

type AuditFlags = AuditFilter & { store: string; json?: true }

function addFilters(command: Command): Command {
  return command
    .addOption(storeOption())
    .addOption(tenantOption())
    .addOption(new Option('--job <name>', 'of this job'))
    .addOption(new Option('--target <text>', 'of this occurrence, job or effect'))
    .addOption(new Option('--actor <name>', 'by this person or program'))
    .addOption(new Option('--action <action>', 'of this kind').choices(auditActions))
    .addOption(new Option('--event <name>', 'business events of this name'))
    .addOption(instantOption('--from <instant>', 'at or after this instant'))
    .addOption(instantOption('--to <instant>', 'before this instant'))
}

function addVerify(audit: Command): void {
  audit
    .command('verify')
    .description(
      'Check every row against the digest that was kept of it. Names each row that was changed, removed or inserted; exit code 1.',
    )
    .addOption(storeOption())
    .addOption(new Option('--hash <text>', 'the last hash of an earlier check, which a segment must have'))
    .addOption(jsonOption())
    .addHelpText('after', example('punctual audit verify --store sqlite:./punctual.db'))
    .action(async ({ store, json, hash: known }: { store: string; json?: true; hash?: string }) => {
      const options = known === undefined ? {} : { hash: known }
      const found = await withClient(store, (punctual) => punctual.verifyAudit(options))
      const { rows, unsealed, segments, dropped, hash, faults } = found
      if (json) printJson(found)
      else {
        for (const { message } of faults) print(message)
        const gone = dropped === 0 ? '' : ` (${dropped} without rows, by retention)`
        print(`${rows} rows in ${segments} segments${gone} checked, ${unsealed} not sealed yet; last hash ${hash ?? 'none'}`)
      }
      if (faults.length > 0)
        throw new PunctualError('store.corrupt', `The audit has ${faults.length} faults`, { faults: faults.length })
    })
}

function addExport(audit: Command): void {
  addFilters(audit.command('export').description('Print rows as NDJSON, one JSON object on each line, the oldest first.'))
    .addHelpText('after', example('punctual audit export --from 2026-01-01 --store sqlite:./punctual.db > audit.ndjson'))
    .action(({ store, ...filter }: AuditFlags) => withClient(store, (punctual) => exportRows(punctual, filter)))
}

async function exportRows(punctual: Punctual, filter: AuditFilter): Promise<void> {
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await punctual.audit({ ...filter, order: 'oldest', limit: 500, ...(cursor !== undefined && { cursor }) })
    for (const item of page.items) print(JSON.stringify(item))
    cursor = page.cursor
  }
}
