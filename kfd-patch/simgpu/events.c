// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Data and settings for tests: the event log, counters, self-checks, times, planted faults. In
 * debugfs, in the GPU's directory "engine":
 *
 *	events		one line per event: number, ns, kind, HQD, VMID, pasid,
 *			queue (its ring's address), value. A reader that keeps
 *			the file open gets new events. "- LOST n" if the log
 *			was overwritten before it was read
 *	queues		one line per queue that was ever loaded
 *	hqds		one line per HQD in use
 *	sdma		one line per SDMA queue in use
 *	counters	name and value, self-checks too
 *	params/		modelled times and other settings
 *	faults/		planted faults: ignore, late and wave count down from
 *			the written value, for queues of faults/pasid (0: any).
 *			no_reset: 1: a reset of a queue has no effect, 2: one
 *			of a pipe, 3: both
 */
#include <linux/debugfs.h>
#include <linux/moduleparam.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "engine.h"

#define STATS_MAX 4096
#define LINE_BYTES 128

static const char *const event_names[SIM_EV_COUNT] = {
	[SIM_EV_LOAD] = "load",
	[SIM_EV_LOADED] = "loaded",
	[SIM_EV_FIRST_WAVE] = "first_wave",
	[SIM_EV_IDLE] = "idle",
	[SIM_EV_DEQUEUE] = "dequeue",
	[SIM_EV_UNLOADED] = "unloaded",
	[SIM_EV_DROPPED] = "dropped",
	[SIM_EV_DOORBELL] = "doorbell",
	[SIM_EV_LAUNCH] = "launch",
	[SIM_EV_COMPLETE] = "complete",
	[SIM_EV_FAULT] = "fault",
	[SIM_EV_ERROR] = "error",
	[SIM_EV_VMID] = "vmid",
	[SIM_EV_FLUSH] = "flush",
	[SIM_EV_RESET] = "reset",
};

static const char *const check_names[SIM_CHECK_COUNT] = {
	[SIM_CHECK_SLOT_BUSY] = "slot_busy",
	[SIM_CHECK_MQD_TWICE] = "mqd_twice",
	[SIM_CHECK_MQD_FREED] = "mqd_freed",
	[SIM_CHECK_VMID_LIVE] = "vmid_live",
	[SIM_CHECK_VMID_UNSET] = "vmid_unset",
	[SIM_CHECK_STALE_TLB] = "stale_tlb",
	[SIM_CHECK_STALE_CODE] = "stale_code",
	[SIM_CHECK_DOORBELL_TWICE] = "doorbell_twice",
	[SIM_CHECK_XCC] = "xcc",
	[SIM_CHECK_NO_TRAP] = "no_trap",
	[SIM_CHECK_RESTORED_TWICE] = "restored_twice",
	[SIM_CHECK_NOT_RESTORED] = "not_restored",
	[SIM_CHECK_SAVE_AREA] = "save_area",
	[SIM_CHECK_DEVICE_USED] = "device_used",
};

static const char *const state_names[] = {
	[SIM_HQD_OFF] = "off",
	[SIM_HQD_LOADING] = "loading",
	[SIM_HQD_RUNNING] = "running",
	[SIM_HQD_DRAINING] = "draining",
	[SIM_HQD_RESETTING] = "resetting",
	[SIM_HQD_SAVING] = "saving",
};

/* ---- the log ---------------------------------------------------------------- */

static void log_add(struct sim_engine *e, const struct sim_log_entry *entry)
{
	spin_lock(&e->log_lock);
	e->log[e->log_next++ % SIM_LOG_ENTRIES] = *entry;
	spin_unlock(&e->log_lock);
}

void sim_event(struct sim_engine *e, enum sim_event kind, const struct sim_hqd *hqd, u64 ns,
	       u64 value)
{
	struct sim_log_entry entry = {
		.ns = ns,
		.queue_va = hqd->ring_va,
		.value = value,
		.pasid = hqd->pasid,
		.kind = kind,
		.hqd = hqd->index,
		.vmid = hqd->vmid,
	};

	log_add(e, &entry);
}

/* An event of no HQD. */
void sim_event_vmid(struct sim_engine *e, enum sim_event kind, unsigned int vmid, u32 pasid,
		    u64 value)
{
	struct sim_log_entry entry = {
		.ns = sim_now(),
		.value = value,
		.pasid = pasid,
		.kind = kind,
		.hqd = 255,
		.vmid = vmid,
	};

	log_add(e, &entry);
}

/* A self-check failed: the driver did something that no hardware would tolerate. */
void sim_check(struct sim_engine *e, enum sim_check kind, const char *format, ...)
{
	struct va_format vaf = { .fmt = format };
	const s64 said_in_full = 20;
	va_list args;

	if (atomic64_inc_return(&e->checks[kind]) > said_in_full)
		return;
	va_start(args, format);
	vaf.va = &args;
	pr_err("simgpu: CHECK %u %s: %pV\n", e->sim->index, check_names[kind], &vaf);
	va_end(args);
}

void sim_check_gone(struct sim_gpu *sim, int processes)
{
	sim_check(sim->engine, SIM_CHECK_DEVICE_USED,
		  "the KFD's device goes, and %d processes have data of it", processes);
}

struct log_reader {
	struct sim_engine *e;
	u64 next;
};

static int events_open(struct inode *inode, struct file *file)
{
	struct log_reader *reader = kzalloc(sizeof(*reader), GFP_KERNEL);

	if (!reader)
		return -ENOMEM;
	reader->e = inode->i_private;
	file->private_data = reader;
	return nonseekable_open(inode, file);
}

static int events_release(struct inode *inode, struct file *file)
{
	kfree(file->private_data);
	return 0;
}

/* The next entry to read. Returns the number overwritten before it, or -ENODATA: none yet. */
static s64 log_take(struct log_reader *reader, struct sim_log_entry *entry)
{
	struct sim_engine *e = reader->e;
	s64 lost = 0;

	spin_lock(&e->log_lock);
	if (reader->next == e->log_next) {
		spin_unlock(&e->log_lock);
		return -ENODATA;
	}
	if (e->log_next - reader->next > SIM_LOG_ENTRIES) {
		lost = e->log_next - reader->next - SIM_LOG_ENTRIES;
		reader->next += lost;
	}
	*entry = e->log[reader->next % SIM_LOG_ENTRIES];
	spin_unlock(&e->log_lock);
	return lost;
}

static size_t log_format(const struct log_reader *reader, s64 lost,
			 const struct sim_log_entry *entry, char *line)
{
	size_t len = 0;

	if (lost)
		len = scnprintf(line, LINE_BYTES, "- LOST %lld\n", lost);
	return len + scnprintf(line + len, LINE_BYTES - len, "%llu %llu %s %d %u %#x %#llx %#llx\n",
			       reader->next, entry->ns, event_names[entry->kind],
			       entry->hqd == 255 ? -1 : entry->hqd, entry->vmid, entry->pasid,
			       entry->queue_va, entry->value);
}

static ssize_t events_read(struct file *file, char __user *to, size_t count, loff_t *pos)
{
	struct log_reader *reader = file->private_data;
	struct sim_log_entry entry;
	char line[LINE_BYTES];
	size_t done = 0;

	for (;;) {
		s64 lost = log_take(reader, &entry);
		size_t len;

		if (lost < 0)
			break;
		len = log_format(reader, lost, &entry, line);
		if (len > count - done)
			break;
		if (copy_to_user(to + done, line, len))
			return -EFAULT;
		done += len;
		reader->next++;
	}
	return done;
}

static const struct file_operations events_fops = {
	.owner = THIS_MODULE,
	.open = events_open,
	.read = events_read,
	.release = events_release,
};

/* ---- queues ----------------------------------------------------------------- */

static void stats_trim(struct sim_engine *e)
{
	struct sim_queue_stat *stat, *n;

	list_for_each_entry_safe (stat, n, &e->stats, link) {
		if (e->stat_count <= STATS_MAX)
			return;
		if (stat->users)
			continue;
		list_del(&stat->link);
		kfree(stat);
		e->stat_count--;
	}
}

/*
 * The account of a queue; run_lock is held. Without memory all further queues share one
 * account: it is only statistics.
 */
struct sim_queue_stat *sim_stat_get(struct sim_engine *e, u32 pasid, u64 queue_va, u64 mqd)
{
	struct sim_queue_stat *stat;

	list_for_each_entry (stat, &e->stats, link) {
		if (stat->pasid == pasid && stat->queue_va == queue_va && stat->mqd == mqd) {
			stat->users++;
			return stat;
		}
	}
	stat = kzalloc(sizeof(*stat), GFP_KERNEL);
	if (!stat)
		return &e->lost_stat;
	stat->pasid = pasid;
	stat->queue_va = queue_va;
	stat->mqd = mqd;
	stat->users = 1;
	list_add_tail(&stat->link, &e->stats);
	e->stat_count++;
	stats_trim(e);
	return stat;
}

void sim_stat_put(struct sim_queue_stat *stat)
{
	if (stat->users)
		stat->users--;
}

/* The account does not include the present run. */
static u64 loaded_now(struct sim_engine *e, const struct sim_queue_stat *stat, bool busy)
{
	u64 now = sim_now(), ns = 0;
	unsigned int i;

	for (i = 0; i < SIM_HQDS; i++) {
		const struct sim_hqd *hqd = &e->hqds[i];
		u64 since = busy ? hqd->busy_since_ns : hqd->active_since_ns;

		if (hqd->state != SIM_HQD_OFF && hqd->stat == stat && since)
			ns += now - min(since, now);
	}
	return ns;
}

static int queues_show(struct seq_file *m, void *unused)
{
	struct sim_engine *e = m->private;
	struct sim_queue_stat *stat;

	seq_puts(m, "pasid queue mqd loads saves midwave groups_saved groups_restored "
		    "packets instructions loaded_ns busy_ns cu_ns last_load_ns last_unload_ns\n");
	mutex_lock(&e->run_lock);
	list_for_each_entry (stat, &e->stats, link)
		seq_printf(m,
			   "%#x %#llx %#llx %llu %llu %llu %llu %llu %llu "
			   "%llu %llu %llu %llu %llu %llu\n",
			   stat->pasid, stat->queue_va, stat->mqd, stat->loads, stat->saves,
			   stat->saves_midwave, stat->groups_saved, stat->groups_restored,
			   stat->packets, stat->instructions,
			   stat->loaded_ns + loaded_now(e, stat, false),
			   stat->busy_ns + loaded_now(e, stat, true), stat->cu_ns,
			   stat->last_load_ns, stat->last_unload_ns);
	mutex_unlock(&e->run_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(queues);

static int hqds_show(struct seq_file *m, void *unused)
{
	struct sim_engine *e = m->private;
	unsigned int i;

	seq_puts(m, "hqd state vmid pasid queue mqd rptr next wptr groups parked waves flags\n");
	mutex_lock(&e->run_lock);
	for (i = 0; i < SIM_HQDS; i++) {
		const struct sim_hqd *hqd = &e->hqds[i];

		if (hqd->state == SIM_HQD_OFF)
			continue;
		seq_printf(m, "%u.%u %s %u %#x %#llx %#llx %llu %llu %llu %u %u %u%s%s%s\n",
			   i / SIM_PIPE_QUEUES, i % SIM_PIPE_QUEUES, state_names[hqd->state],
			   hqd->vmid, hqd->pasid, hqd->ring_va, hqd->mqd, hqd->rptr, hqd->next,
			   hqd->wptr, hqd->group_count, hqd->parked, hqd->waves,
			   hqd->halted ? " halted" : "", hqd->silent ? " silent" : "",
			   hqd->waiting_scratch ? " scratch" : "");
	}
	mutex_unlock(&e->run_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(hqds);

static int sdma_show(struct seq_file *m, void *unused)
{
	struct sim_engine *e = m->private;
	unsigned int i;

	seq_puts(m, "queue vmid pasid ring rptr wptr doorbell flags\n");
	mutex_lock(&e->run_lock);
	for (i = 0; i < SIM_SDMA_QUEUES; i++) {
		const struct sim_sdma *queue = &e->sdma[i];

		if (!queue->running)
			continue;
		seq_printf(m, "%u.%u %u %#x %#llx %llu %llu %#tx%s\n", i / SIM_SDMA_RLCS,
			   i % SIM_SDMA_RLCS, queue->vmid, sim_regs_pasid(e, queue->vmid),
			   queue->ring_va, queue->rptr, queue->wptr,
			   queue->doorbell ? queue->doorbell - e->sim->doorbells : 0,
			   queue->halted ? " halted" : "");
	}
	mutex_unlock(&e->run_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(sdma);

static int counters_show(struct seq_file *m, void *unused)
{
	struct sim_engine *e = m->private;
	unsigned int i;

	mutex_lock(&e->run_lock);
#define COUNTER(name) seq_printf(m, #name " %llu\n", e->name)
	COUNTER(instructions);
	COUNTER(packets);
	COUNTER(loads);
	COUNTER(saves);
	COUNTER(saves_midwave);
	COUNTER(groups_saved);
	COUNTER(groups_restored);
	COUNTER(resets);
	COUNTER(drains);
	COUNTER(sdma_packets);
	COUNTER(sdma_bytes);
	COUNTER(tlb_fills);
	COUNTER(tlb_flushes);
	COUNTER(vm_faults);
	COUNTER(queue_errors);
	COUNTER(interrupts);
	COUNTER(polls);
	COUNTER(hws_runlists);
	COUNTER(hws_unmaps);
	COUNTER(hws_turns);
	COUNTER(mes_adds);
	COUNTER(mes_removes);
	COUNTER(lag_ns);
#undef COUNTER
	mutex_unlock(&e->run_lock);
	seq_printf(m, "now_ns %llu\n", sim_now());
	for (i = 0; i < SIM_CHECK_COUNT; i++)
		seq_printf(m, "check_%s %lld\n", check_names[i], atomic64_read(&e->checks[i]));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(counters);

/* ---- settings --------------------------------------------------------------- */

static ulong insn_ns = 2000;
module_param(insn_ns, ulong, 0444);
MODULE_PARM_DESC(insn_ns, "modelled time of one instruction of one wave on its CU; 0: none");

static ulong save_ns = 20000;
module_param(save_ns, ulong, 0444);
MODULE_PARM_DESC(save_ns, "modelled time of a save, without that for its size");

static ulong load_ns = 10000;
module_param(load_ns, ulong, 0444);
MODULE_PARM_DESC(load_ns, "modelled time of a load, without that for its size");

void sim_params_defaults(struct sim_params *params)
{
	*params = (struct sim_params){
		.insn_ns = insn_ns,
		.slice_ns = 50 * NSEC_PER_USEC,
		.poll_ns = 20 * NSEC_PER_USEC,
		.idle_poll_ns = 100 * NSEC_PER_USEC,
		.max_lag_ns = 1 * NSEC_PER_MSEC,
		.dispatch_ns = 5 * NSEC_PER_USEC,
		.save_ns = save_ns,
		.save_kib_ns = 100,
		.load_ns = load_ns,
		.load_kib_ns = 100,
		.reset_ns = 10 * NSEC_PER_USEC,
		.sdma_kib_ns = 50,
		.hws_turn_ns = 10 * NSEC_PER_MSEC,
		.quantum = 64,
	};
}

/* Counts a planted fault down, if it applies to @hqd. */
bool sim_fault_take(struct sim_engine *e, u32 *counter, const struct sim_hqd *hqd)
{
	u32 pasid = READ_ONCE(e->params.fault_pasid);

	if (!READ_ONCE(*counter) || (pasid && pasid != hqd->pasid))
		return false;
	WRITE_ONCE(*counter, *counter - 1);
	return true;
}

static void make_params(struct sim_engine *e, struct dentry *parent)
{
	struct dentry *dir = debugfs_create_dir("params", parent);
	struct sim_params *p = &e->params;

	debugfs_create_u64("insn_ns", 0600, dir, &p->insn_ns);
	debugfs_create_u64("slice_ns", 0600, dir, &p->slice_ns);
	debugfs_create_u64("poll_ns", 0600, dir, &p->poll_ns);
	debugfs_create_u64("idle_poll_ns", 0600, dir, &p->idle_poll_ns);
	debugfs_create_u64("max_lag_ns", 0600, dir, &p->max_lag_ns);
	debugfs_create_u64("dispatch_ns", 0600, dir, &p->dispatch_ns);
	debugfs_create_u64("save_ns", 0600, dir, &p->save_ns);
	debugfs_create_u64("save_kib_ns", 0600, dir, &p->save_kib_ns);
	debugfs_create_u64("load_ns", 0600, dir, &p->load_ns);
	debugfs_create_u64("load_kib_ns", 0600, dir, &p->load_kib_ns);
	debugfs_create_u64("reset_ns", 0600, dir, &p->reset_ns);
	debugfs_create_u64("sdma_kib_ns", 0600, dir, &p->sdma_kib_ns);
	debugfs_create_u64("hws_turn_ns", 0600, dir, &p->hws_turn_ns);
	debugfs_create_u32("quantum", 0600, dir, &p->quantum);
	debugfs_create_u32("ih_pasid", 0600, dir, &p->ih_pasid);
}

static void make_faults(struct sim_engine *e, struct dentry *parent)
{
	struct dentry *dir = debugfs_create_dir("faults", parent);
	struct sim_params *p = &e->params;

	debugfs_create_u32("pasid", 0600, dir, &p->fault_pasid);
	debugfs_create_u32("ignore", 0600, dir, &p->fault_ignore);
	debugfs_create_u32("late", 0600, dir, &p->fault_late);
	debugfs_create_u64("late_ns", 0600, dir, &p->fault_late_ns);
	debugfs_create_u64("save_extra_ns", 0600, dir, &p->fault_save_ns);
	debugfs_create_u32("wave", 0600, dir, &p->fault_wave);
	debugfs_create_u32("no_reset", 0600, dir, &p->fault_no_reset);
}

int sim_events_init(struct sim_engine *e)
{
	struct dentry *dir;

	e->log = vzalloc(SIM_LOG_ENTRIES * sizeof(*e->log));
	if (!e->log)
		return -ENOMEM;
	dir = debugfs_create_dir("engine", e->sim->debugfs);
	e->files = dir;
	make_params(e, dir);
	make_faults(e, dir);
	debugfs_create_file("events", 0400, dir, e, &events_fops);
	debugfs_create_file("queues", 0400, dir, e, &queues_fops);
	debugfs_create_file("hqds", 0400, dir, e, &hqds_fops);
	debugfs_create_file("sdma", 0400, dir, e, &sdma_fops);
	debugfs_create_file("counters", 0400, dir, e, &counters_fops);
	return 0;
}

void sim_events_fini(struct sim_engine *e)
{
	struct sim_queue_stat *stat, *n;

	debugfs_remove_recursive(e->files);
	list_for_each_entry_safe (stat, n, &e->stats, link) {
		list_del(&stat->link);
		kfree(stat);
	}
	vfree(e->log);
}
