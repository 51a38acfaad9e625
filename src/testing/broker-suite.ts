import type { Broker } from '../broker/broker.ts'
import { deliveryCases } from './broker-suite/delivery.ts'
import { outageCases } from './broker-suite/outage.ts'
import { publishCases } from './broker-suite/publish.ts'
import { requestCases } from './broker-suite/request.ts'
import { BrokerScene } from './broker-suite/scene.ts'

/** The server behind a broker, for cases that stop it. */
export interface BrokerServer {
  /** Ends the server at once, as `kill -9` does. */
  kill(): Promise<void>
  /** Starts it again, with the data it had. */
  start(): Promise<void>
  /** Removes its data, while it is down. */
  wipe(): Promise<void>
}

/** `dedupe`: a message id that is published twice within a while is delivered once. `server`: the broker is a separate server. */
export type BrokerAbility = 'dedupe' | 'server'

/** The options of `brokerSuite`. */
export interface BrokerSuiteOptions {
  /** The broker's name, which begins every title. */
  readonly name: string
  /** Makes a broker and opens it. Further calls give other connections to the same server. */
  readonly open: () => Promise<Broker>
  readonly server?: BrokerServer
  /** The abilities the broker does not have, each with the reason: only their cases are skipped. */
  readonly lacks?: Readonly<Partial<Record<BrokerAbility, string>>>
}

/** One case of the suite, for any test runner to register. */
export interface BrokerCase {
  readonly title: string
  /** Why the case does not apply, or null. */
  readonly skip: string | null
  run(): Promise<void>
}

/** A case before it knows which broker it will run on. */
export interface BrokerDraft {
  readonly title: string
  readonly needs?: BrokerAbility
  readonly run: (scene: BrokerScene) => Promise<void>
}

const drafts: readonly BrokerDraft[] = [...publishCases, ...deliveryCases, ...requestCases, ...outageCases]

/**
 * The conformance suite of brokers: what every adapter must do against its real server, as a list of cases.
 * @example for (const { title, skip, run } of brokerSuite({ name: 'mine', open })) it(title, { skip: skip !== null }, run)
 */
export function brokerSuite({ name, open, server, lacks = {} }: BrokerSuiteOptions): readonly BrokerCase[] {
  return drafts.map((draft) => {
    const skip = draft.needs === undefined ? null : (lacks[draft.needs] ?? null)
    return {
      title: `${name}: ${draft.title}${skip === null ? '' : ` (skipped: ${skip})`}`,
      skip,
      run: async () => {
        const scene = await BrokerScene.open(open, server ?? null)
        try {
          await draft.run(scene)
        } finally {
          await scene.close()
        }
      },
    }
  })
}
