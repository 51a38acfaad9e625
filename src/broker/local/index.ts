export { type LocalOptions, local } from './local.ts'
