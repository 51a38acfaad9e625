export type { OperationName } from '../client/operation.ts'
export type { WireInput, WireOutput } from '../http/wire.ts'
export { createRemote, Remote, type RemoteInput, type RemoteOptions, type RemoteParts, type RemoteTarget } from './remote.ts'
