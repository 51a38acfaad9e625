// The parts in use of packages without types.
declare module 'better-sqlite3' {
  export interface Database {
    readonly name: string
    pragma(source: string): unknown
  }
  export type Transaction<F> = F
  const open: new (path: string) => Database
  // biome-ignore lint/style/noDefaultExport: so it is published
  export default open
}
