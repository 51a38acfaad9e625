import 'reflect-metadata'
import type { AddressInfo } from 'node:net'
import { Controller, Inject, Module, Param, Post } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { expect, test } from 'vitest'
import { memory } from '../../src/store/memory/index.ts'
import { createJobs } from './jobs.ts'
import { JobsModule, JobsService } from './nest.ts'

class OrdersController {
  readonly #jobs: JobsService

  constructor(jobs: JobsService) {
    this.#jobs = jobs
  }

  async create(id: string) {
    const { outcome } = await this.#jobs.remind(Number(id))
    return { outcome }
  }
}

// The decorators, called: Node.js runs these files as they are, and decorators are not among what it can strip.
const handler = Object.getOwnPropertyDescriptor(OrdersController.prototype, 'create') as PropertyDescriptor
Inject(JobsService)(OrdersController, undefined, 0)
Param('id')(OrdersController.prototype, 'create', 0)
Post(':id')(OrdersController.prototype, 'create', handler)
Controller('orders')(OrdersController)

test('NestJS: the module starts and stops with the application, and a controller enqueues', async () => {
  const punctual = createJobs(memory())
  class AppModule {}
  Module({ imports: [JobsModule.register(punctual)], controllers: [OrdersController] })(AppModule)
  const app = await NestFactory.create(AppModule, { logger: false })
  await app.listen(0, '127.0.0.1')
  expect(punctual.health.state).toBe('ok')
  const { port } = app.getHttpServer().address() as AddressInfo
  const post = async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/orders/42`, { method: 'POST', headers: { connection: 'close' } })
    return answer.json()
  }
  expect(await post()).toEqual({ outcome: 'created' })
  expect(await post()).toEqual({ outcome: 'existing' })
  await app.close()
  expect(punctual.health.state).toBe('stopped')
  await expect(punctual.list()).rejects.toMatchObject({ code: 'punctual.closed' })
})
