import type { DynamicModule, OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common'
import type { Punctual } from 'punctual'
import { remind } from './jobs.ts'

export class JobsService implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly punctual: Punctual

  constructor(punctual: Punctual) {
    this.punctual = punctual
  }

  async onApplicationBootstrap() {
    await this.punctual.start()
  }

  async onApplicationShutdown() {
    await this.punctual.close()
  }

  remind(order: number) {
    return this.punctual.enqueue(remind, { order }, { key: `order-${order}`, delay: '15m' })
  }
}

// In your root module: imports: [JobsModule.register(createJobs(sqlite('app.db')))]
// Call app.enableShutdownHooks(), and signals stop it.
export class JobsModule {
  static register(punctual: Punctual): DynamicModule {
    const service = { provide: JobsService, useFactory: () => new JobsService(punctual) }
    return { module: JobsModule, global: true, providers: [service], exports: [service] }
  }
}
