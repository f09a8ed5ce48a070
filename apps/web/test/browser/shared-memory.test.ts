import { readFileSync, statfsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { launchBrowser } from '../../../../.scripts/browser.ts'

const isLinux = process.platform === 'linux'

test('browsers of tests share memory where there is room for it: on a full disk below TMPDIR every page crashes', async () => {
  const browser = await launchBrowser()
  try {
    const session = await browser.newBrowserCDPSession()
    const { processInfo } = await session.send('SystemInfo.getProcessInfo')
    const { id = 0 } = processInfo.find(({ type }) => type === 'browser') ?? {}
    const given = isLinux ? readFileSync(`/proc/${id}/cmdline`, 'utf8').split('\0') : []
    const { bavail, bsize } = isLinux ? statfsSync('/dev/shm') : { bavail: 0, bsize: 0 }
    const hasRoom = !isLinux || bavail * bsize > 1024 ** 3
    expect(given.includes('--disable-dev-shm-usage')).toBe(!hasRoom)
  } finally {
    await browser.close()
  }
})
