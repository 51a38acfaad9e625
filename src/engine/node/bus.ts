import type { Emitter, Events } from '../../model/events.ts'
import type { StoreExchange } from '../../store/observed.ts'
import type { NodeRecord, RescueAnswer } from '../../store/store.ts'
import type { TurnResult } from '../turn/turn.ts'

/** Signals between the parts of a node. Users do not see them. */
export interface Signals {
  /** The store has noticed that for a while no node was there. */
  'signal.gap': null
  /** All nodes, whenever they are looked at. */
  'signal.nodes': readonly NodeRecord[]
  /** This node may run other kinds than before. */
  'signal.kinds': null
  /** The store's clock was set: instants that lay ahead may be past. */
  'signal.jump': null
  /** A job was declared or changed by this process. */
  'signal.jobs': null
  /** The store has refused a write of a turn: its next beat returns why. */
  'signal.refused': null
  /** Work has ended without a turn on this node: its `onComplete` may be due. */
  'signal.ended': null
  /** A definition or handler was added. */
  'signal.registered': null
  /** One call to the store has ended. Built only while there is a listener. */
  'signal.store': StoreExchange
  /** A slot has become free, and more work may be due. */
  'signal.slot': null
  /** Ended work whose `onComplete` this node must run. */
  'signal.openHooks': RescueAnswer['openHooks']
  /** So many ms from now a claim is worth a try. */
  'signal.due': number
  'signal.turn': { readonly claimId: string; readonly result: TurnResult }
}

/** The one bus of a node: events for users, and signals between its parts. */
export type Bus = Emitter<Events & Signals>
