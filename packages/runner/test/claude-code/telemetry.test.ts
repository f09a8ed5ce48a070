import { createServer } from 'node:http'
import { claudeVersions } from '@chirality/fixtures'
import { describe, expect, test } from 'vitest'
import { useWorld } from './support/world.ts'

describe.each(claudeVersions())('telemetry of Claude Code $version', ({ path: binary }) => {
  const world = useWorld()

  test("its own metrics reach the user's collector, with the header that the shell has for it", async () => {
    const got: { url: string | undefined; key: unknown; body: string }[] = []
    const collector = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', chunk => chunks.push(chunk))
      request.on('end', () => {
        const body = Buffer.concat(chunks).toString()
        got.push({ url: request.url, key: request.headers['x-collector-key'], body })
        response.setHeader('content-type', 'application/json').end('{}')
      })
    })
    await new Promise<void>(resolve => collector.listen(0, '127.0.0.1', resolve))
    world.atEnd(() => new Promise(resolve => collector.close(() => resolve())))
    const { port } = collector.address() as { port: number }
    const model = await world.model({ otherwise: 'Hello.' })
    const harness = world.harness(binary, {
      model,
      environment: {
        CLAUDE_CODE_ENABLE_TELEMETRY: '1',
        OTEL_METRICS_EXPORTER: 'otlp',
        OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
        OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
        OTEL_EXPORTER_OTLP_HEADERS: 'x-collector-key=heron',
        OTEL_SERVICE_NAME: 'an-app-of-the-user',
      },
    })
    for await (const _ of harness.startTurn(world.session(), 'Hi')) {
      // Only its end matters.
    }
    expect(got).toContainEqual(
      expect.objectContaining({
        url: '/v1/metrics',
        key: 'heron',
        body: expect.stringContaining('claude_code.session.count'),
      }),
    )
    expect(got.some(({ body }) => body.includes('an-app-of-the-user'))).toBe(false)
  })
})
