declare module '*/my-store.ts' {
  export function mine(place: unknown): import('punctual').Store
}
