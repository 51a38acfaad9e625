import { Argument, type Command, Option } from 'commander'
import { type BackfillMode, type BackfillOptions, type BackfillPreview, backfillModes } from '../../client/operations.ts'
import { withClient } from '../client.ts'
import { example, instantOption, jsonOption, storeOption, tenantOption, whole } from '../options.ts'
import { instant, print, printJson, printNote } from '../print.ts'

interface BackfillFlags {
  store: string
  json?: true
  from: string
  to: string
  mode?: BackfillMode
  concurrency?: number
  tenant?: string
  dryRun?: true
}

const shownInstants = 20

export function addBackfill(root: Command): void {
  root
    .command('backfill')
    .description('Run the instants of a job in a range: those that are missing, that failed, or all again.')
    .addArgument(new Argument('<job>', 'the name of the job'))
    .addOption(storeOption())
    .addOption(
      instantOption('--from <instant>', 'the first instant, such as 2026-11-15T00:00:00Z, or a day').makeOptionMandatory(),
    )
    .addOption(instantOption('--to <instant>', 'before this one').makeOptionMandatory())
    .addOption(new Option('--mode <which>', 'which instants; else missing').choices(backfillModes))
    .addOption(new Option('--concurrency <number>', 'how many run at once; else 1').argParser(whole(1, 1000)))
    .addOption(new Option('--dry-run', 'only show what it would run and what is there'))
    .addOption(tenantOption())
    .addOption(jsonOption())
    .addHelpText(
      'after',
      example('punctual backfill report --from 2026-11-01 --to 2026-11-15 --dry-run --store sqlite:./punctual.db'),
    )
    .action((job: string, { store, json, dryRun, ...options }: BackfillFlags) =>
      dryRun ? preview(store, job, options, json) : backfill(store, job, options, json),
    )
}

async function preview(store: string, job: string, options: BackfillOptions, json: true | undefined): Promise<void> {
  const found = await withClient(store, (punctual) => punctual.previewBackfill(job, options))
  if (json) return printJson(found)
  print(previewText(found, options.mode ?? 'missing'))
}

function previewText({ instants, count, first, existing }: BackfillPreview, mode: BackfillMode): string {
  const there = Object.entries(existing).map(([state, number]) => `${number} ${state}`)
  const shown = first.slice(0, shownInstants)
  return [
    `${plural(instants, 'instant')} in the range; in mode ${mode} ${count} of them would be run.`,
    `Recorded already: ${there.join(', ') || 'none'}.`,
    ...(shown.length > 0 ? ['', ...shown.map((at) => `  ${instant(at)}`)] : []),
    ...(count > shown.length ? [`  and ${count - shown.length} more`] : []),
  ].join('\n')
}

async function backfill(store: string, job: string, options: BackfillOptions, json: true | undefined): Promise<void> {
  const result = await withClient(store, (punctual) => punctual.backfill(job, options))
  if (json) return printJson(result)
  print(`${result.outcome} ${result.id} for ${plural(result.count, 'run')}`)
  printNote(`A node works it off; punctual occurrences ${result.id} shows how far it is, punctual cancel ${result.id} ends it.`)
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
