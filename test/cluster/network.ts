/**
 * Hosts on one machine: network namespaces joined by a bridge. A host's processes are found by its namespace,
 * so a later run can also end them.
 */

import { existsSync } from 'node:fs'
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { eventually, sh, tryTo } from './shell.ts'

const PREFIX = 'colloquy-'
const BRIDGE = 'colloquy0'
const NET = '10.213.77'

/** This process's address on the network of the hosts. */
export const HERE = `${NET}.1`

export async function makeNetwork(): Promise<void> {
  await sh('ip', ['link', 'add', BRIDGE, 'type', 'bridge'])
  await sh('ip', ['addr', 'add', `${HERE}/24`, 'dev', BRIDGE])
  await sh('ip', ['link', 'set', BRIDGE, 'up'])
}

const linkOf = (host: string): string => `clq-${host}`

/** Creates a host and returns its address. */
export async function makeHost(host: string, number: number): Promise<string> {
  const space = PREFIX + host
  const address = `${NET}.${number}`
  await sh('ip', ['netns', 'add', space])
  await sh('ip', ['link', 'add', linkOf(host), 'type', 'veth', 'peer', 'name', 'eth0', 'netns', space])
  await sh('ip', ['link', 'set', linkOf(host), 'master', BRIDGE, 'up'])
  await sh('ip', ['-n', space, 'addr', 'add', `${address}/24`, 'dev', 'eth0'])
  await sh('ip', ['-n', space, 'link', 'set', 'eth0', 'up'])
  await sh('ip', ['-n', space, 'link', 'set', 'lo', 'up'])
  return address
}

/** Disconnects a host from all others, or reconnects it. */
export async function link(host: string, joined: boolean): Promise<void> {
  await sh('ip', ['link', 'set', linkOf(host), joined ? 'up' : 'down'])
}

/** Sets whether hosts can reach each other; everything else stays reachable. */
export async function isolate(hosts: readonly string[], isolated: boolean): Promise<void> {
  for (const host of hosts) {
    const state = isolated ? 'on' : 'off'
    await sh('ip', ['link', 'set', linkOf(host), 'type', 'bridge_slave', 'isolated', state])
  }
}

/** Command prefix that runs a program on a host. */
export const onHost = (host: string): readonly string[] => ['ip', 'netns', 'exec', PREFIX + host]

export async function processesOf(host: string): Promise<readonly number[]> {
  const text = await tryTo('ip', ['netns', 'pids', PREFIX + host])
  return text.split('\n').filter(Boolean).map(Number)
}

export async function signalAll(host: string, signal: NodeJS.Signals): Promise<void> {
  for (const id of await processesOf(host)) {
    try {
      process.kill(id, signal)
    } catch {
      // It has already ended.
    }
  }
}

export async function killAll(host: string): Promise<void> {
  const isEmpty = async (): Promise<boolean> => {
    await signalAll(host, 'SIGKILL')
    return (await processesOf(host)).length === 0
  }
  if (!(await eventually(isEmpty, 20_000, 20))) throw new Error(`processes of ${host} do not end`)
}

/** Removes all hosts with their processes, the network, and the folder with its mounts; logs can be kept. */
export async function clearAll(folder: string, keepsLogs = false): Promise<void> {
  const spaces = (await tryTo('ip', ['netns', 'list'])).split('\n').map((line) => line.split(' ')[0] ?? '')
  for (const space of spaces.filter((name) => name.startsWith(PREFIX))) {
    const host = space.slice(PREFIX.length)
    await killAll(host)
    await tryTo('ip', ['link', 'del', linkOf(host)])
    await sh('ip', ['netns', 'del', space])
  }
  if (existsSync(`/sys/class/net/${BRIDGE}`)) await sh('ip', ['link', 'del', BRIDGE])
  for (const path of await mountsBelow(folder)) await sh('umount', [path])
  if (!existsSync(folder)) return
  for (const name of await readdir(folder)) {
    if (!keepsLogs || name !== 'logs') await rm(join(folder, name), { recursive: true, force: true })
  }
  if (!keepsLogs) await rm(folder, { recursive: true })
}

async function mountsBelow(folder: string): Promise<string[]> {
  const lines = (await readFile('/proc/mounts', 'utf8')).split('\n')
  return lines.map((line) => line.split(' ')[1] ?? '').filter((position) => position.startsWith(`${folder}/`))
}
