import type { VNode } from 'preact'
import { api } from '../data/api.ts'
import { useQuery } from '../data/query.ts'
import { tenant } from '../data/session.ts'

/** Keeps lists to one tenant; nothing where there is only one. */
export function TenantSelect(): VNode | null {
  const { data } = useQuery({ key: ['tenants'], read: (signal) => api.tenants(signal) })
  if (!data || data.items.length < 2) return null
  return (
    <select
      class="in short"
      aria-label="Tenant"
      value={tenant.value}
      onChange={(event) => {
        tenant.value = event.currentTarget.value
      }}
    >
      <option value="" selected={tenant.value === ''}>
        Tenant: all
      </option>
      {data.items.map(({ name }) => (
        <option key={name} value={name} selected={tenant.value === name}>
          {name}
        </option>
      ))}
    </select>
  )
}
