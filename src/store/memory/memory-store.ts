// The reference store: the rules on plain maps, each verb in its plainest form, against which the others are compared.
import type { Ability } from '../abilities.ts'
import type { AuditAnswerTo, AuditQuery, GateAnswerTo, GateRequest, Store, StoreEnv } from '../store.ts'
import { listAudit } from './audit.ts'
import { beat } from './beat.ts'
import { cancel } from './cancel.ts'
import { checkpoint } from './checkpoint.ts'
import { claim } from './claim.ts'
import { counts } from './counts.ts'
import { create } from './create.ts'
import { figures } from './figures.ts'
import { gate } from './gate.ts'
import { get } from './get.ts'
import { putJob, readJobs, readVersions } from './jobs.ts'
import { list, listRanges } from './list.ts'
import { listDue } from './list-due.ts'
import { move } from './move.ts'
import { nodes } from './nodes.ts'
import { pause, readPauses } from './pause.ts'
import { backlog, peek } from './peek.ts'
import { jobsToPlan, plan } from './plan.ts'
import { prune } from './prune.ts'
import { rescue } from './rescue.ts'
import { settle } from './settle.ts'
import { State } from './state.ts'
import { tokens } from './tokens.ts'

export class MemoryStore implements Store {
  readonly name = 'memory'
  readonly abilities: ReadonlySet<Ability> = new Set()
  readonly batchLimit = 1000
  readonly #state = new State(() => this.#now())
  #now: () => number = () => 0
  readonly hints = this.#state.hints

  async open({ clock }: StoreEnv) {
    this.#now = () => Math.floor(clock.wall())
  }
  async close() {}

  readonly putJob = this.#verb(putJob)
  readonly readJobs = this.#verb(readJobs)
  readonly readVersions = this.#verb(readVersions)
  readonly pause = this.#verb(pause)
  readonly readPauses = this.#verb(readPauses)
  readonly jobsToPlan = this.#verb(jobsToPlan)
  readonly plan = this.#verb(plan)
  readonly create = this.#verb(create)
  readonly peek = this.#verb(peek)
  readonly backlog = this.#verb(backlog)
  readonly claim = this.#verb(claim)
  readonly checkpoint = this.#verb(checkpoint)
  readonly settle = this.#verb(settle)
  readonly cancel = this.#verb(cancel)
  readonly move = this.#verb(move)
  async gate<Request extends GateRequest>(request: Request) {
    return gate(this.#state, request) as GateAnswerTo<Request>
  }
  async listAudit<Query extends AuditQuery>(query: Query) {
    return listAudit(this.#state, query) as AuditAnswerTo<Query>
  }
  readonly beat = this.#verb(beat)
  readonly rescue = this.#verb(rescue)
  readonly prune = this.#verb(prune)
  readonly get = this.#verb(get)
  readonly list = this.#verb(list)
  readonly listRanges = this.#verb(listRanges)
  readonly counts = this.#verb(counts)
  readonly listDue = this.#verb(listDue)
  readonly figures = this.#verb(figures)
  readonly tokens = this.#verb(tokens)
  readonly nodes = this.#verb(nodes)

  /** A verb by its function on the state. An error that it throws becomes a rejection. */
  #verb<Given extends unknown[], Answer>(act: (state: State, ...given: Given) => Answer): (...given: Given) => Promise<Answer> {
    return async (...given) => act(this.#state, ...given)
  }
}
