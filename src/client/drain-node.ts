import { PunctualError } from '../errors.ts'
import { checkKey, checkObject, checkOptions } from '../model/limits.ts'
import type { NodeRecord } from '../store/store.ts'
import { auditNote, type By, byNames } from './audit-note.ts'
import type { ClientEnv } from './client-env.ts'

/** Marks the nodes of a name or boot id, and returns them. They learn of it at their next beat. */
export async function drainNode(env: ClientEnv, node: string, options: By = {}): Promise<readonly NodeRecord[]> {
  checkKey(node, 'node')
  checkObject(options, 'options of drainNode')
  checkOptions(options, byNames, 'options of drainNode')
  const { nodes } = await env.store.nodes({ drain: { node, audit: auditNote(env, 'drain', options) } })
  const drained = nodes.filter(({ boot, name }) => boot === node || name === node)
  if (drained.length === 0)
    throw new PunctualError('node.unknown', `There is no node ${JSON.stringify(node)}`, {
      field: 'node',
      known: [...new Set(nodes.map(({ name }) => name))].slice(0, 20),
    })
  return drained
}
