import { Argument, type Command } from 'commander'
import type { ExplainTarget, Explanation } from '../../client/explain.ts'
import type { KeyOptions } from '../../client/keys.ts'
import { withClient } from '../client.ts'
import { example, jsonOption, keyOptions, storeOption, tenantOption } from '../options.ts'
import { bold, facts, print, printJson } from '../print.ts'

interface ExplainFlags extends KeyOptions {
  store: string
  json?: true
  tenant?: string
}

export function addExplain(root: Command): void {
  const [key, idempotencyKey] = keyOptions(
    'of the job, the occurrence with this key',
    'of the job, the occurrence with this idempotency key',
  )
  root
    .command('explain')
    .description('Tell why a job or an occurrence has not run, or will not.')
    .addArgument(new Argument('<job-or-occurrence>', 'the name of a job, or the id of an occurrence'))
    .addOption(storeOption())
    .addOption(key)
    .addOption(idempotencyKey)
    .addOption(tenantOption())
    .addOption(jsonOption())
    .addHelpText('after', example('punctual explain report --store sqlite:./punctual.db'))
    .action(async (name: string, { store, json, ...flags }: ExplainFlags) => {
      const explanation = await withClient(store, (punctual) => punctual.explain(targetOf(name, flags)))
      if (json) return printJson(explanation)
      print(page(name, explanation))
    })
}

function targetOf(name: string, { tenant, key, idempotencyKey }: KeyOptions & { tenant?: string }): ExplainTarget {
  const within = { job: name, ...(tenant !== undefined && { tenant }) }
  if (key !== undefined) return { ...within, key }
  if (idempotencyKey !== undefined) return { ...within, idempotencyKey }
  return tenant === undefined ? name : within
}

function page(name: string, { subject, id, reasons }: Explanation): string {
  const title = subject === 'job' ? `job ${name}` : `${subject} ${id}`
  return `${bold(title)}\n${facts(reasons.map(({ code, message }) => [code, message]))}`
}
