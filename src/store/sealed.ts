// A store whose payloads, results, errors, progress and log lines are sealed on their way in and opened on their way out. Texts that cannot be opened
// stay sealed: their readers get an error that names the key.
import type { Codec } from '../model/codec.ts'
import type { JobRecord } from '../model/job.ts'
import type { AttemptLog, AttemptRecord, OccurrenceHistory, Progress, TurnRecord } from '../model/occurrence.ts'
import { Seal } from './seal.ts'
import type {
  CheckpointItem,
  ChildWork,
  ClaimAnswer,
  ClaimMember,
  CreateAnswer,
  GateAnswerTo,
  GateRecord,
  GateRequest,
  JobPut,
  MemberWrite,
  Store,
} from './store.ts'

type Verbs = Pick<
  Store,
  | 'putJob'
  | 'readJobs'
  | 'readVersions'
  | 'jobsToPlan'
  | 'create'
  | 'claim'
  | 'checkpoint'
  | 'settle'
  | 'move'
  | 'gate'
  | 'get'
  | 'list'
>

export function sealed(store: Store, codec: Codec): Store {
  const verbs = sealedVerbs(store, new Seal(codec))
  return new Proxy(store, {
    get(target, name) {
      if (name in verbs) return verbs[name as keyof Verbs]
      const value = Reflect.get(target, name) as unknown
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

function sealedVerbs(store: Store, seal: Seal): Verbs {
  const members = new WeakMap<ClaimMember, ClaimMember>()
  const openMember = (member: ClaimMember): ClaimMember => {
    const opened: ClaimMember = {
      ...member,
      record: seal.openPayload(member.record),
      turns: member.turns.map((turn) => openTurn(seal, turn)),
      attempts: member.attempts.map((attempt) => openAttempt(seal, attempt)),
    }
    members.set(opened, member)
    return opened
  }
  const openClaim = <Answer extends ClaimAnswer | null>(answer: Answer): Answer =>
    answer && { ...answer, members: answer.members.map(openMember) }
  const written = <Write extends MemberWrite>(write: Write): Write => ({
    ...write,
    member: members.get(write.member) ?? write.member,
  })
  return {
    async putJob(put) {
      const [known] = await store.readJobs({ tenant: put.tenant, name: put.name, limit: 1 })
      const answer = await store.putJob(sealPut(seal, put, known))
      return { ...answer, job: answer.job && seal.openJob(answer.job) }
    },
    readJobs: async (query) => (await store.readJobs(query)).map((job) => seal.openJob(job)),
    readVersions: async (query) => (await store.readVersions(query)).map((version) => seal.openVersion(version)),
    async jobsToPlan(query) {
      const work = await store.jobsToPlan(query)
      const jobs = work.jobs.map((candidate) => ({
        ...candidate,
        job: seal.openJob(candidate.job),
        versions: candidate.versions.map((version) => seal.openVersion(version)),
      }))
      return { ...work, jobs }
    },
    async create(rows, options) {
      const answer = await store.create(
        rows.map((row) => ({ ...row, payload: seal.text(row.payload) })),
        options,
      )
      const compared = await Promise.all(answer.rows.map((row, at) => compare(store, seal, row, rows[at]?.payload ?? null)))
      return { rows: compared, claimed: openClaim(answer.claimed) }
    },
    claim: async (request) => openClaim(await store.claim(request)),
    checkpoint: (items) => store.checkpoint(items.map((item) => sealCheckpoint(seal, written(item)))),
    async settle(items, options) {
      const answer = await store.settle(
        items.map((item) => ({
          ...written(item),
          end: sealEnd(seal, item.end),
          attempts: item.attempts.map((attempt) => sealAttempt(seal, attempt)),
          ...(item.logs && { logs: sealLogs(seal, item.logs) }),
        })),
        options,
      )
      return { ...answer, claimed: openClaim(answer.claimed) }
    },
    move(request) {
      const { to } = request
      const isEdited = 'payload' in to && to.payload !== undefined
      return store.move(isEdited ? { ...request, to: { ...to, payload: seal.text(to.payload as string | null) } } : request)
    },
    async gate<Request extends GateRequest>(request: Request) {
      const own = 'member' in request && request.member ? { ...request, member: written(request.member) } : request
      return openGate(seal, await gateOnce(store, seal, own))
    },
    async get(which) {
      const history = await store.get(which)
      return history && openHistory(seal, history)
    },
    async list(filter) {
      const page = await store.list(filter)
      return { ...page, items: page.items.map((line) => ({ ...line, error: seal.openError(line.error) })) }
    },
  }
}

/** A payload that was sealed with an older key is another text: the plain text is compared. */
async function compare(store: Store, seal: Seal, row: CreateAnswer['rows'][number], payload: string | null) {
  if (!row.differs) return row
  const found = await store.get({ id: row.id })
  return found && seal.open(found.record.payload) === payload ? { ...row, differs: false } : row
}

/** A payload that has not changed stays sealed as it is, so an unchanged job writes nothing, whatever the current key. */
function sealPut(seal: Seal, put: JobPut, known: JobRecord | undefined): JobPut {
  const stored = [known?.spec, known?.declared, known?.override].flatMap((spec) => spec?.payload ?? [])
  const text = (payload: string | null) => stored.find((sealed) => seal.open(sealed) === payload) ?? seal.text(payload)
  const { spec, declared, override } = put
  return {
    ...put,
    spec: { ...spec, payload: text(spec.payload) },
    declared: declared && { ...declared, payload: text(declared.payload) },
    override: override && (override.payload === undefined ? override : { ...override, payload: text(override.payload) }),
  }
}

function sealAttempt(seal: Seal, attempt: AttemptRecord): AttemptRecord {
  return { ...attempt, result: seal.text(attempt.result), error: seal.error(attempt.error) }
}

function openAttempt(seal: Seal, attempt: AttemptRecord): AttemptRecord {
  return { ...attempt, result: seal.open(attempt.result), error: seal.openError(attempt.error) }
}

function sealLogs(seal: Seal, logs: readonly AttemptLog[]): readonly AttemptLog[] {
  return logs.map((log) => ({ ...log, text: seal.text(log.text) as string }))
}

function sealEnd<End extends Pick<TurnRecord, 'result' | 'error' | 'tasks'>>(seal: Seal, end: End): End {
  const tasks = end.tasks?.map((task) => (task.error ? { ...task, error: seal.error(task.error) } : task)) ?? null
  return { ...end, result: seal.text(end.result), error: seal.error(end.error), tasks }
}

function openTurn(seal: Seal, turn: TurnRecord): TurnRecord {
  const tasks = turn.tasks?.map((task) => (task.error ? { ...task, error: seal.openError(task.error) } : task)) ?? null
  return { ...turn, result: seal.open(turn.result), error: seal.openError(turn.error), tasks }
}

function openHistory(seal: Seal, history: OccurrenceHistory): OccurrenceHistory {
  return {
    ...history,
    record: seal.openPayload(history.record),
    turns: history.turns.map((turn) => openTurn(seal, turn)),
    attempts: history.attempts.map((attempt) => openAttempt(seal, attempt)),
    progress: history.progress && { ...history.progress, message: seal.open(history.progress.message) },
    logs: history.logs.map((log) => ({ ...log, text: seal.open(log.text) as string })),
  }
}

function sealCheckpoint(seal: Seal, item: CheckpointItem): CheckpointItem {
  const { within, recorded, progress, logs, changes } = item
  const sealedProgress = (note: Progress) => ({ ...note, message: seal.text(note.message) })
  return {
    ...item,
    attempts: item.attempts.map((attempt) => sealAttempt(seal, attempt)),
    ...(progress && { progress: sealedProgress(progress) }),
    ...(logs && { logs: sealLogs(seal, logs) }),
    ...(within && { within: seal.within(within) }),
    ...(changes && { changes: () => sealChanges(seal, changes()) }),
    ...(recorded && { recorded: (result: string | null) => recorded(seal.open(result)) }),
  }
}

function sealChanges(seal: Seal, { creates, cancels }: ChildWork): ChildWork {
  return { creates: creates.map((row) => ({ ...row, payload: seal.text(row.payload) })), cancels }
}

/** A fingerprint that was sealed with an older key is another text: the plain text is compared, as of payloads. */
async function gateOnce<Request extends GateRequest>(store: Store, seal: Seal, request: Request): Promise<GateAnswerTo<Request>> {
  const sealedRequest = sealGate(seal, request)
  const answer = await store.gate(sealedRequest)
  if (request.act !== 'reserve' || !('gate' in answer) || answer.outcome !== 'mismatch') return answer
  const stored = answer.gate?.fingerprint ?? null
  return seal.open(stored) === request.fingerprint ? store.gate({ ...sealedRequest, fingerprint: stored }) : answer
}

function sealGate<Request extends GateRequest>(seal: Seal, request: Request): Request {
  switch (request.act) {
    case 'reserve': {
      const { within, fingerprint } = request
      return { ...request, fingerprint: seal.text(fingerprint), ...(within && { within: seal.within(within) }) }
    }
    case 'record':
      return { ...request, result: seal.text(request.result) }
    case 'doubt':
      return { ...request, reason: seal.text(request.reason) }
    case 'resolve':
      return { ...request, to: request.to && { ...request.to, result: seal.text(request.to.result) } }
    default:
      return request
  }
}

function openGate<Request extends GateRequest>(seal: Seal, answer: GateAnswerTo<Request>): GateAnswerTo<Request> {
  const given = answer as { gate?: GateRecord | null; items?: readonly GateRecord[] }
  const opened = (gate: GateRecord): GateRecord => ({
    ...gate,
    result: seal.open(gate.result),
    fingerprint: seal.open(gate.fingerprint),
    reason: seal.open(gate.reason),
  })
  return {
    ...answer,
    ...(given.gate && { gate: opened(given.gate) }),
    ...(given.items && { items: given.items.map(opened) }),
  }
}
