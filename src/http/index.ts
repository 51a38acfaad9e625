export { createHandler, type HandlerOptions } from './handler.ts'
