import { causeOf } from '../model/cause.ts'
import type { Codec } from '../model/codec.ts'
import type { JobRecord, JobSpec, VersionRecord } from '../model/job.ts'
import type { ErrorRecord } from '../model/report.ts'
import { isSealed, missingKey } from '../model/sealed-text.ts'

type Within = (tx: unknown) => string | null | Promise<string | null>

/** How the parts of records are sealed and opened. */
export class Seal {
  readonly #codec: Codec

  constructor(codec: Codec) {
    this.#codec = codec
  }

  text(text: string | null): string | null {
    return text === null ? null : this.#codec.seal(text)
  }

  /** The text as it is where its key is missing. */
  open(text: string | null): string | null {
    return text === null ? null : (this.#codec.open(text) ?? text)
  }

  /** A sealed error keeps its cause, by which dead work is grouped. */
  error<Given extends ErrorRecord | null>(error: Given): Given {
    return (error && { message: this.#codec.seal(JSON.stringify(error)), fingerprint: causeOf(error) }) as Given
  }

  openError<Given extends ErrorRecord | null>(error: Given): Given {
    if (!error || !isSealed(error.message)) return error
    const text = this.#codec.open(error.message)
    if (text !== null) return JSON.parse(text) as Given
    const { message, code } = missingKey(error.message)
    return { ...error, message, code }
  }

  openPayload<Given extends { readonly payload: string | null }>(given: Given): Given {
    return given.payload === null ? given : { ...given, payload: this.open(given.payload) }
  }

  openJob(job: JobRecord): JobRecord {
    const { override } = job
    return {
      ...job,
      spec: this.openPayload(job.spec),
      declared: job.declared && this.openPayload<JobSpec>(job.declared),
      override: override && (override.payload === undefined ? override : { ...override, payload: this.open(override.payload) }),
    }
  }

  openVersion(version: VersionRecord): VersionRecord {
    return { ...version, spec: this.openPayload(version.spec) }
  }

  /** Seals what an effect in a transaction returns; synchronously where it does. */
  within(within: Within): Within {
    return (tx) => {
      const result = within(tx)
      return result instanceof Promise ? result.then((text) => this.text(text)) : this.text(result)
    }
  }
}
