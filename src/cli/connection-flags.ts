import type { Command } from 'commander'
import type { ConnectionFlags } from './connection.ts'

const ranks = ['default', 'config', 'env', 'cli']

/** The store or server of a command. A flag wins over the environment, and that over the configuration file. */
export function connectionFlags(command: Command): ConnectionFlags {
  const { store, server, token, by } = command.opts<{ store?: string; server?: string; token?: string; by?: string }>()
  const rank = (name: string, value: unknown) =>
    value === undefined ? -1 : ranks.indexOf(command.getOptionValueSource(name) ?? 'default')
  const [ofStore, ofServer] = [rank('store', store), rank('server', server)]
  if (ofStore < 0 && ofServer < 0)
    command.error("error: required option '--store <url>' not specified, nor '--server <url>' instead of it")
  if (ofStore === ofServer) command.error('error: name a store or a server, not both')
  const author = by === undefined ? {} : { by }
  if (ofStore > ofServer) return { ...author, store: store as string }
  return { ...author, server: server as string, ...(token !== undefined && { token }) }
}
