// A built server as its user runs it, with 1,000 sessions on the disk and nobody who looks.
import { HarnessRegistry } from '@chirality/runner'
import { startServer } from '@chirality/server'

const [folder = ''] = process.argv.slice(2)
const { host } = await startServer({
  harnesses: new HarnessRegistry(),
  projects: [`${folder}/project`],
  home: `${folder}/home`,
  port: 0,
})
for (let i = (await host.store.list(`${folder}/project`)).length; i < 1000; i += 1) {
  await host.createSession(`${folder}/project`)
}
if (process.argv[3] === 'fill') process.exit()
await host.store.page({ limit: 50 })
const cpu = process.cpuUsage()
const SECONDS = 5
setTimeout(() => {
  const { user, system } = process.cpuUsage(cpu)
  process.stdout.write(
    JSON.stringify({ rssBytes: process.memoryUsage.rss(), cpu: (user + system) / 1e6 / SECONDS }),
  )
  process.exit()
}, SECONDS * 1000)
