import { type LookupAddress, lookup } from 'node:dns'
import { BlockList, isIP } from 'node:net'

/** Addresses of this machine, of private networks and of none: webhooks of strangers must not reach them. */
const inside = new BlockList()
for (const [address, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
] as const)
  inside.addSubnet(address, prefix, 'ipv4')
for (const [address, prefix] of [
  ['::', 127],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['2001::', 32],
  ['2002::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['ff00::', 8],
] as const)
  inside.addSubnet(address, prefix, 'ipv6')

/** Whether an address is not of the public network. IPv4 addresses within IPv6 are judged as IPv4. */
export function isInside(address: string): boolean {
  const family = isIP(address)
  if (family === 0) return true
  return inside.check(address, family === 4 ? 'ipv4' : 'ipv6')
}

type Answer = (error: Error | null, address: string | LookupAddress[], family?: number) => void

/** A lookup for sockets that refuses addresses inside: it is the address that is connected to which is checked, so no name can change between. */
export function guardedLookup(hostname: string, options: { all?: boolean | undefined }, answer: Answer): void {
  lookup(hostname, { ...options, all: true }, (error, found) => {
    if (error) return answer(error, [])
    const refused = found.find(({ address }) => isInside(address))
    const [first] = found
    if (refused || !first) return answer(new AddressRefused(hostname), [])
    if (options.all) answer(null, found)
    else answer(null, first.address, first.family)
  })
}

/** A webhook to an address inside. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused'
  readonly retryable = false

  constructor(host: string) {
    super(`${host} is an address of this machine or of a private network; allow it with allowPrivate`)
  }
}
