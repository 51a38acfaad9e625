import type { Command } from 'commander'
import { withClient } from '../client.ts'
import { example, jsonOption, storeOption } from '../options.ts'
import { instant, print, printJson, table } from '../print.ts'

export function addNodes(root: Command): void {
  root
    .command('nodes')
    .description('List the nodes that work on the store, with their load, version, last beat and handlers.')
    .addOption(storeOption())
    .addOption(jsonOption())
    .addHelpText('after', example('punctual nodes --store sqlite:./punctual.db'))
    .action(async ({ store, json }: { store: string; json?: true }) => {
      const records = await withClient(store, (punctual) => punctual.nodes())
      const nodes = records.map((node) => ({ ...node, startedAt: new Date(node.startedAt), beatAt: new Date(node.beatAt) }))
      if (json) return printJson({ items: nodes })
      const rows = nodes.map((node) => [
        node.name,
        String(node.pid),
        `${node.running}/${node.concurrency}`,
        node.release === null ? node.version : `${node.version} (release ${node.release})`,
        instant(node.startedAt),
        instant(node.beatAt),
        node.boot,
        node.kinds.toSorted().join(', '),
      ])
      print(table(['NODE', 'PID', 'RUNNING', 'VERSION', 'STARTED', 'LAST BEAT', 'ID', 'HANDLERS'], rows))
    })
}
