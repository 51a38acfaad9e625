import { Argument, type Command, Option } from 'commander'
import type { ExplainTarget, Explanation } from '../../client/explain.ts'
import { withClient } from '../client.ts'
import { example, jsonOption, storeOption, tenantOption } from '../options.ts'
import { bold, facts, print, printJson } from '../print.ts'

interface ExplainFlags {
  store: string
  json?: true
  tenant?: string
  key?: string
}

export function addExplain(root: Command): void {
  root
    .command('explain')
    .description('Tell why a job or an occurrence has not run, or will not.')
    .addArgument(new Argument('<job-or-occurrence>', 'the name of a job, or the id of an occurrence'))
    .addOption(storeOption())
    .addOption(new Option('--key <key>', 'of the job, the occurrence with this key'))
    .addOption(tenantOption())
    .addOption(jsonOption())
    .addHelpText('after', example('punctual explain report --store sqlite:./punctual.db'))
    .action(async (name: string, { store, json, tenant, key }: ExplainFlags) => {
      const explanation = await withClient(store, (punctual) => punctual.explain(targetOf(name, tenant, key)))
      if (json) return printJson(explanation)
      print(page(name, explanation))
    })
}

function targetOf(name: string, tenant: string | undefined, key: string | undefined): ExplainTarget {
  const within = { job: name, ...(tenant !== undefined && { tenant }) }
  if (key !== undefined) return { ...within, key }
  return tenant === undefined ? name : within
}

function page(name: string, { subject, id, reasons }: Explanation): string {
  const title = subject === 'job' ? `job ${name}` : `${subject} ${id}`
  return `${bold(title)}\n${facts(reasons.map(({ code, message }) => [code, message]))}`
}
