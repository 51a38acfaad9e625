// A payload: a form where the job's schema is known and flat enough, else JSON.
import { type Signal, useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { into } from '../data/into.ts'
import { RequestError } from '../data/request.ts'
import { Segments } from '../part/button.tsx'
import { AreaField, SelectField, TextField } from '../part/field.tsx'

type Schema = Readonly<Record<string, unknown>>

interface Issue {
  readonly message: string
  readonly path: readonly string[]
}

export interface PayloadDraft {
  readonly text: string
  readonly isChanged: boolean
  /** Faults that the job's schema has found in this text. */
  readonly issues: readonly Issue[]
}

export function startPayload(schema: Schema | null, payload: unknown): PayloadDraft {
  const issues: Issue[] = []
  if (payload !== null && payload !== undefined) return { text: JSON.stringify(payload, null, 2), isChanged: false, issues }
  return schema ? { text: '{}', isChanged: true, issues } : { text: '', isChanged: false, issues }
}

/** Sends a draft; what the schema refuses in it is shown at its fields. */
export async function sendPayload<Answer>(draft: Signal<PayloadDraft>, send: () => Promise<Answer>): Promise<Answer> {
  try {
    return await send()
  } catch (error) {
    const issues = error instanceof RequestError && error.code === 'payload.rejected' ? error.details.issues : undefined
    if (!Array.isArray(issues) || issues.length === 0) throw error
    draft.value = { ...draft.value, issues }
    throw new RequestError(400, 'payload.rejected', 'The schema of the job refuses this payload. Nothing has changed.')
  }
}

/** The value, or what is wrong with the text and where. */
export function checkJson(text: string): { value: unknown; error: string | null } {
  if (text.trim() === '') return { value: undefined, error: null }
  try {
    return { value: JSON.parse(text), error: null }
  } catch (error) {
    return { value: undefined, error: placed((error as Error).message, text) }
  }
}

/** Engines name the position; people need line and column. */
function placed(message: string, text: string): string {
  const position = Number(/position (\d+)/.exec(message)?.[1])
  if (Number.isNaN(position)) return `Not valid JSON: ${message}`
  const before = text.slice(0, position).split('\n')
  return `Not valid JSON at line ${before.length}, column ${before.at(-1)!.length + 1}`
}

interface FormField {
  readonly name: string
  readonly kind: 'text' | 'number' | 'boolean' | 'choice' | 'instant'
  readonly choices: readonly string[]
  readonly isRequired: boolean
  readonly hint: string | undefined
}

/** The fields of a schema, or null when a form cannot hold it. */
function formFields(schema: Schema | null): readonly FormField[] | null {
  const properties = schema?.properties
  if (schema?.type !== 'object' || typeof properties !== 'object' || properties === null) return null
  const required = Array.isArray(schema.required) ? schema.required : []
  const fields: FormField[] = []
  for (const [name, part] of Object.entries(properties as Record<string, Schema>)) {
    const kind = kindOf(part)
    if (!kind) return null
    fields.push({
      name,
      kind,
      choices: Array.isArray(part.enum) ? part.enum.map(String) : [],
      isRequired: required.includes(name),
      hint: typeof part.description === 'string' ? part.description : undefined,
    })
  }
  return fields.length > 0 && fields.length <= 12 ? fields : null
}

function kindOf(part: Schema): FormField['kind'] | null {
  if (Array.isArray(part.enum) && part.enum.every((one) => typeof one === 'string')) return 'choice'
  if (part.type === 'string') return part.format === 'date-time' ? 'instant' : 'text'
  if (part.type === 'number' || part.type === 'integer') return 'number'
  return part.type === 'boolean' ? 'boolean' : null
}

export function PayloadField({ schema, draft }: { schema: Schema | null; draft: Signal<PayloadDraft> }): VNode {
  const fields = formFields(schema)
  const mode = useSignal<'form' | 'json'>(fields ? 'form' : 'json')
  const { text, issues } = draft.value
  const { error } = checkJson(text)
  const isForm = fields !== null && mode.value === 'form' && error === null && hasFields(text, fields)
  const edit = (next: string) => {
    draft.value = { text: next, isChanged: true, issues: [] }
  }
  return (
    <div class="stack gap-2">
      {fields && (
        <div class="row between">
          <span class="label strong">Payload</span>
          <Segments
            label="Editor"
            value={mode.value}
            values={[
              ['form', 'Form'],
              ['json', 'JSON'],
            ]}
            onChange={into(mode)}
          />
        </div>
      )}
      {isForm ? (
        <SchemaForm fields={fields} draft={draft} edit={edit} />
      ) : (
        <AreaField
          label={fields ? 'JSON' : 'Payload, JSON'}
          value={text}
          onInput={edit}
          error={error ?? (issues.map(issueText).join('; ') || null)}
          hint={schema ? undefined : 'No node has published a schema for it; the handler gets it as it is.'}
        />
      )}
    </div>
  )
}

/** A form shows a payload whole, or not at all: one with other fields is edited as JSON. */
function hasFields(text: string, fields: readonly FormField[]): boolean {
  const value = checkJson(text).value ?? {}
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  return Object.keys(value).every((name) => fields.some((field) => field.name === name))
}

function issueText({ path, message }: Issue): string {
  return path.length === 0 ? message : `${path.join('.')}: ${message}`
}

function SchemaForm({
  fields,
  draft,
  edit,
}: {
  fields: readonly FormField[]
  draft: Signal<PayloadDraft>
  edit: (text: string) => void
}): VNode {
  const { text, issues } = draft.value
  const values = (checkJson(text).value ?? {}) as Record<string, unknown>
  const set = (name: string, value: unknown) => {
    const next = { ...values, [name]: value }
    if (value === undefined || value === '') delete next[name]
    edit(JSON.stringify(next, null, 2))
  }
  return (
    <div class="stack gap-3">
      {fields.map(({ name, kind, choices, isRequired, hint }) => {
        const label = isRequired ? name : `${name}, optional`
        const error = issues
          .filter(({ path }) => path[0] === name)
          .map(({ message }) => message)
          .join('; ')
        const shared = { label, ...(hint && { hint }), error }
        if (kind === 'choice' || kind === 'boolean') {
          const options = kind === 'boolean' ? ['true', 'false'] : choices
          return (
            <SelectField
              key={name}
              {...shared}
              value={values[name] === undefined ? '' : String(values[name])}
              values={[['', '—'] as const, ...options.map((one) => [one, one] as const)]}
              onChange={(value) => set(name, value === '' ? undefined : kind === 'boolean' ? value === 'true' : value)}
            />
          )
        }
        return (
          <TextField
            key={name}
            {...shared}
            type={kind === 'number' ? 'number' : 'text'}
            value={values[name] === undefined ? '' : String(values[name])}
            onInput={(value) => set(name, kind === 'number' && value !== '' ? Number(value) : value)}
          />
        )
      })}
    </div>
  )
}
