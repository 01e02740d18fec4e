import { pause, serialQueue } from '../../conversation/async.ts'
import type { Page } from '../../store/contract/query.ts'
import type { Store } from '../../store/contract/store.ts'
import { invalidArgument } from '../../event/check-value.ts'
import { HttpProblem } from '../http/problem.ts'
import { MASK } from '../mask-secrets.ts'
import { type Records, recordsOf, risingClock } from '../records.ts'
import type { SandboxFiles } from '../sandbox-files/contract.ts'
import { NO_STATE, type SandboxProvider, type SandboxSpec, type SandboxState } from './sandbox-provider.ts'

interface SandboxRecord {
  readonly id: string
  readonly sandbox_spec_id: string
  readonly created_at: string
}

interface StoredSandbox extends SandboxRecord {
  /** Time since which the sandbox may be running and counts towards the limit; null if it is not running. */
  readonly up: string | null
  /** The status that another process requests. The process that runs the sandbox executes this request. */
  readonly wanted?: 'PAUSED' | 'RUNNING' | null
  readonly lease?: SandboxLease
}

interface SandboxLease {
  readonly machine: string
  /** End of the lease, in epoch milliseconds. From then on, another machine may start the sandbox again. */
  readonly until: number
  readonly status: SandboxState['status']
  /** The previous machine, which still has the files. Set if its lease expired and `machine` restarted the sandbox. */
  readonly lostOn?: string
}

/** Milliseconds that a lease lasts. A live machine renews its leases before they expire. */
const LEASE = 60_000

/** A sandbox has ended if it is neither STARTING nor RUNNING this many milliseconds after its last start. */
const START_TIMEOUT = 600_000

interface SandboxInfo extends SandboxRecord, Omit<SandboxState, 'working_dir'> {
  readonly created_by_user_id: null
}

interface SandboxesOptions {
  readonly provider: SandboxProvider | null
  readonly limit: number
  /** The clock of leases, in epoch milliseconds. Default: `Date.now`. */
  readonly now?: () => number
}

/** The sandboxes of a service. Starts, pauses and resumes them one after the other, within the limit. */
export class Sandboxes {
  readonly #provider: SandboxProvider | null
  readonly #most: number
  readonly #records: Records<StoredSandbox>
  readonly #leaseNow: () => number
  readonly #now = risingClock()
  readonly #inTurn = serialQueue()
  readonly #begun = new Set<string>()

  constructor(store: Store, { provider, limit, now = Date.now }: SandboxesOptions) {
    if (!Number.isSafeInteger(limit) || limit < 1)
      invalidArgument('maxSandboxes', 'must be an integer of 1 or more')
    this.#provider = provider
    this.#most = limit
    this.#leaseNow = now
    this.#records = recordsOf<StoredSandbox>(store, 'sandboxes', ({ created_at, up, lease }) => ({
      keys: {
        created_at,
        ...(up !== null && { up: created_at }),
        ...(lease !== undefined && { machine: lease.machine }),
      },
    }))
  }

  get possible(): boolean {
    return this.#provider !== null
  }

  get files(): SandboxFiles | null {
    return this.#provider?.files ?? null
  }

  get specs(): readonly SandboxSpec[] {
    return (this.#provider?.specs ?? []).map((spec) => ({
      ...spec,
      initial_env: Object.fromEntries(Object.keys(spec.initial_env).map((name) => [name, MASK])),
    }))
  }

  async list(after: string | null, limit: number): Promise<Page<SandboxRecord>> {
    const { items, cursor } = await this.#records.list({
      by: 'created_at',
      descending: true,
      limit,
      ...(after !== null && { cursor: after }),
    })
    return { items: items.map(({ record }) => withoutUp(record)), cursor }
  }

  async find(id: string): Promise<SandboxRecord | null> {
    const stored = await this.#records.find(id)
    return stored === null ? null : withoutUp(stored.record)
  }

  /** Returns the state of a sandbox; MISSING if the store or the provider does not know the sandbox. */
  async state(id: string): Promise<SandboxState> {
    return (await this.states([id])).get(id) ?? NO_STATE
  }

  /** Waits at most `timeout` milliseconds until a sandbox is no longer starting. Returns its state. */
  async settled(id: string, timeout: number, signal: AbortSignal): Promise<SandboxState> {
    const deadline = performance.now() + timeout
    for (let wait = 20; ; wait = Math.min(500, wait * 1.5)) {
      const state = await this.state(id)
      if (state.status !== 'STARTING' || signal.aborted || performance.now() > deadline) return state
      await pause(wait, signal)
    }
  }

  async states(ids: Iterable<string>): Promise<ReadonlyMap<string, SandboxState>> {
    const unique = new Set(ids)
    if (unique.size === 0) return new Map()
    return new Map(
      await Promise.all([...unique].map(async (id) => [id, await this.#ask(await this.find(id))] as const)),
    )
  }

  async info(record: SandboxRecord): Promise<SandboxInfo> {
    const { working_dir: _dir, ...state } = await this.#ask(record)
    return { ...record, created_by_user_id: null, ...state }
  }

  /**
   * Starts a sandbox. To apply the limit, queries all sandboxes that may be running. @throws HttpProblem 404 for
   * an unknown spec, 409 without a provider, or if the sandbox belongs to another machine.
   */
  async start(specId: string | null, id: string = newId()): Promise<SandboxRecord> {
    const provider = this.#required()
    const spec = specId === null ? provider.specs[0] : provider.specs.find((one) => one.id === specId)
    if (spec === undefined)
      throw new HttpProblem(404, `Sandbox spec ${JSON.stringify(specId ?? '')} was not found.`)
    return this.#inTurn(async () => {
      const known = await this.find(id)
      const created_at = new Date(this.#now()).toISOString()
      const record = known ?? { id, sandbox_spec_id: spec.id, created_at }
      await this.#makeRoom(record)
      await this.#records.update(id, (before) => ({
        ...(before ?? record),
        up: isoNow(),
        wanted: null,
        ...this.#taken(id, before),
      }))
      this.#begun.add(id)
      await provider.start(id, record.sandbox_spec_id)
      return record
    })
  }

  /** Pauses a sandbox; does nothing if it does not run. @throws HttpProblem 404 for an unknown sandbox. */
  async pause(id: string): Promise<void> {
    await this.#inTurn(async () => {
      await this.#known(id)
      await this.#pause(id)
    })
  }

  /** Resumes a sandbox, unless it runs. @throws HttpProblem 404 for an unknown sandbox, 409 as `start` does. */
  async resume(id: string): Promise<void> {
    await this.#inTurn(async () => this.#resume(await this.#known(id)))
  }

  /** Ends a sandbox and deletes its files. @throws HttpProblem 404 for an unknown sandbox. */
  async delete(id: string): Promise<void> {
    await this.#inTurn(async () => {
      await this.#known(id)
      await this.#provider?.delete(id)
      await this.#records.remove(id)
      this.#begun.delete(id)
    })
  }

  /** Executes the requests of other processes. Returns the ids of resumed sandboxes. @throws the first failure. */
  async sweep(): Promise<readonly string[]> {
    return this.#inTurn(async () => {
      const resumed: string[] = []
      let failure: { readonly error: unknown } | null = null
      for (const id of this.#begun) {
        try {
          if (await this.#sweep(id)) resumed.push(id)
        } catch (error) {
          failure ??= { error }
        }
      }
      await this.#renewLeases()
      if (failure !== null) throw failure.error
      return resumed
    })
  }

  /** Pauses, resumes or deletes a sandbox as another process requested. Returns whether the sandbox was resumed. */
  async #sweep(id: string): Promise<boolean> {
    const record = (await this.#records.find(id))?.record ?? null
    if (record !== null && this.#isElsewhere(record.lease)) {
      // This machine did not renew its lease, and another machine restarted the sandbox.
      await this.#provider?.pause(id)
      this.#begun.delete(id)
    } else if (record === null) {
      await this.#provider?.delete(id)
      this.#begun.delete(id)
    } else if (record.wanted === 'PAUSED') await this.#pause(id)
    else if (record.wanted === 'RUNNING') {
      await this.#resume(record)
      return true
    }
    return false
  }

  /** Pauses a sandbox. If another process runs the sandbox, stores a request for that process. */
  async #pause(id: string): Promise<void> {
    await this.#provider?.pause(id)
    const isElsewhere = isUp(await this.state(id))
    await this.#mark(id, isElsewhere ? { wanted: 'PAUSED' } : { up: null, wanted: null })
  }

  /** Resumes a sandbox. If another process started the sandbox, stores a request for that process. */
  async #resume(record: SandboxRecord): Promise<void> {
    const { id } = record
    const provider = this.#required()
    this.#checkLease(id, await this.#leaseOf(id))
    if (isUp(await this.#ask(record))) return this.#mark(id, { wanted: null })
    await this.#makeRoom(record)
    await this.#records.update(id, (before) =>
      before === null ? undefined : { ...before, up: isoNow(), wanted: null, ...this.#taken(id, before) },
    )
    const isOwn = this.#begun.has(id)
    this.#begun.add(id)
    await provider.resume(id, record.sandbox_spec_id)
    if (isOwn || (await this.#ask(record)).status !== 'PAUSED') return
    this.#begun.delete(id)
    await this.#mark(id, { wanted: 'RUNNING' })
  }

  async #mark(id: string, change: Partial<Pick<StoredSandbox, 'up' | 'wanted'>>): Promise<void> {
    await this.#records.update(id, (before) => {
      const isUnchanged = Object.entries(change).every(
        ([name, value]) => (before?.[name as keyof typeof change] ?? null) === value,
      )
      return before === null || isUnchanged ? undefined : { ...before, ...change }
    })
  }

  async #ask(record: SandboxRecord | null): Promise<SandboxState> {
    if (record === null) return NO_STATE
    const machine = this.#provider?.machine
    const lease = machine === undefined ? undefined : await this.#leaseOf(record.id)
    if (lease !== undefined && lease.machine !== machine) return this.#stateElsewhere(lease)
    const state = (await this.#provider?.state(record.id, record.sandbox_spec_id)) ?? NO_STATE
    if (lease?.lostOn === undefined || state.status_detail !== null) return state
    return {
      ...state,
      status_detail: `It was restarted on this machine. Its files were on the machine ${lease.lostOn}.`,
    }
  }

  async #leaseOf(id: string): Promise<SandboxLease | undefined> {
    return (await this.#records.find(id))?.record.lease
  }

  #isElsewhere(lease: SandboxLease | undefined): lease is SandboxLease {
    const machine = this.#provider?.machine
    if (machine === undefined || lease === undefined) return false
    return lease.machine !== machine && lease.until > this.#leaseNow()
  }

  #stateElsewhere(lease: SandboxLease): SandboxState {
    const { machine, status } = lease
    const status_detail = this.#isElsewhere(lease)
      ? `It belongs to the machine ${machine}.`
      : `It belonged to the machine ${machine}, which stopped renewing its lease. Resume starts it again here, without its files.`
    return { ...NO_STATE, status: this.#isElsewhere(lease) ? status : 'PAUSED', status_detail }
  }

  #checkLease(id: string, lease: SandboxLease | undefined): void {
    if (!this.#isElsewhere(lease)) return
    const until = new Date(lease.until).toISOString()
    throw new HttpProblem(
      409,
      `Sandbox ${JSON.stringify(id)} belongs to the machine ${lease.machine}, at least until ${until}. Resume it on that machine.`,
    )
  }

  #taken(id: string, before: StoredSandbox | null): Pick<StoredSandbox, 'lease'> {
    this.#checkLease(id, before?.lease)
    const machine = this.#provider?.machine
    if (machine === undefined) return {}
    const previous = before?.lease
    const isTakenOver = previous !== undefined && previous.machine !== machine
    const lostOn = isTakenOver ? previous.machine : previous?.lostOn
    const until = this.#leaseNow() + LEASE
    return { lease: { machine, until, status: 'STARTING', ...(lostOn !== undefined && { lostOn }) } }
  }

  /** Renews this machine's leases when half of their time is over, or when a sandbox's status has changed. */
  async #renewLeases(): Promise<void> {
    const machine = this.#provider?.machine
    if (machine === undefined) return
    for await (const { id, record } of this.#records.walk({ by: 'machine', value: machine })) {
      const until = this.#leaseNow() + LEASE
      const isDue = (record.lease?.until ?? 0) < until - LEASE / 2
      if (!isDue && !this.#begun.has(id)) continue
      const { status } = await this.#ask(record)
      if (!isDue && record.lease?.status === status) continue
      await this.#records.update(id, (before) =>
        before?.lease?.machine === machine
          ? { ...before, lease: { ...before.lease, status, until } }
          : undefined,
      )
    }
  }

  /** Whether a sandbox counts towards the limit. A sandbox whose specification has no command does not. */
  #counts({ sandbox_spec_id: specId }: SandboxRecord): boolean {
    return this.#provider?.specs.find(({ id }) => id === specId)?.command !== null
  }

  async #known(id: string): Promise<SandboxRecord> {
    const record = await this.find(id)
    if (record !== null) return record
    throw new HttpProblem(404, `Sandbox ${JSON.stringify(id)} was not found.`)
  }

  #required(): SandboxProvider {
    if (this.#provider !== null) return this.#provider
    throw new HttpProblem(409, 'This service has no sandboxes. Pass `controlPlane.provider`.')
  }

  /** Pauses other sandboxes until one more may run: first running sandboxes, then starting ones, oldest first. */
  async #makeRoom(record: SandboxRecord): Promise<void> {
    if (!this.#counts(record)) return
    const others = new Map<string, StoredSandbox>()
    for await (const { id, record: other } of this.#records.walk({ by: 'up' }))
      if (id !== record.id && this.#counts(other)) others.set(id, other)
    const states = await this.states(others.keys())
    const of = (status: SandboxState['status']): string[] =>
      [...others.keys()].filter((other) => states.get(other)?.status === status)
    const up = [...of('RUNNING'), ...of('STARTING')]
    for (const oldest of up.slice(0, Math.max(0, up.length - this.#most + 1))) await this.#pause(oldest)
    // Sandboxes that ended by themselves are not queried again.
    for (const [id, { up: since }] of others)
      if (!up.includes(id) && Date.parse(since ?? '') < Date.now() - START_TIMEOUT)
        await this.#mark(id, { up: null })
  }
}

export const newId = (): string => crypto.randomUUID().replaceAll('-', '')

const isoNow = (): string => new Date().toISOString()

const withoutUp = ({ up: _up, wanted: _wanted, lease: _lease, ...record }: StoredSandbox): SandboxRecord =>
  record

const isUp = ({ status }: SandboxState): boolean => status === 'RUNNING' || status === 'STARTING'
