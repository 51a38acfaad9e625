import { PunctualError } from '../errors.ts'
import { checkName } from '../model/limits.ts'

/** A place in the list of jobs. */
interface Place {
  readonly name: string
  readonly tenant: string
}

/** The place as a text that fits into an address. */
export function encodePlace({ name, tenant }: Place): string {
  return Buffer.from(JSON.stringify([name, tenant])).toString('base64url')
}

export function decodePlace(text: string): Place {
  try {
    const [name, tenant] = JSON.parse(Buffer.from(text, 'base64url').toString()) as [string, string]
    checkName(name, 'name')
    checkName(tenant, 'tenant')
    if (encodePlace({ name, tenant }) === text) return { name, tenant }
  } catch {}
  throw new PunctualError('option.invalid', 'cursor must be that of the page before', { field: 'cursor' })
}
