"""Boxes of faces out of what detectors return, and how many of them two runs have in common."""
import numpy as np

from quantized import pictures

WITH_FACES = ("ultraface_rfb320/1.jpg", "yunet_face/grace_hopper.bmp", "movenet_lightning_int8/image3.jpeg")
LEAST_SCORE = 0.5
SAME = 0.5


def squares(models, side, count, seed):
    """Samples of 0 to 255, of all sizes down to a fifth of a picture, every second one mirrored."""
    random = np.random.default_rng(seed)
    photographs = [pictures.Image.open(models / file).convert("RGB") for file in WITH_FACES]
    found = [np.asarray(pictures.cut(photographs[i % len(photographs)], side, random, 0.2), np.float32)
             for i in range(count)]
    return np.stack([pixels[:, ::-1] if i % 2 else pixels for i, pixels in enumerate(found)])


def overlap(box, boxes):
    """Shares that are common to both; boxes as left, top, right, bottom."""
    size = np.maximum(0, np.minimum(box[2:], boxes[:, 2:]) - np.maximum(box[:2], boxes[:, :2]))
    area = np.prod(boxes[:, 2:] - boxes[:, :2], axis=1) + np.prod(box[2:] - box[:2])
    common = np.prod(size, axis=1)
    return common / np.maximum(area - common, 1e-9)


def best(scores, boxes):
    """Those that score, none of which covers much of a better one."""
    order = [i for i in np.argsort(-scores, kind="stable") if scores[i] >= LEAST_SCORE]
    kept = []
    for i in order:
        if not kept or overlap(boxes[i], boxes[kept]).max() < 0.3:
            kept.append(i)
    return boxes[kept].reshape(-1, 4)


def corners(centres, sizes):
    return np.concatenate([centres - sizes / 2, centres + sizes / 2], axis=1)


def anchors(grid, times):
    rows, columns = np.mgrid[:grid, :grid]
    return np.repeat((np.stack([columns, rows], -1).reshape(-1, 2) + 0.5) / grid, times, axis=0)


def short_range_boxes(outputs, i):
    """Of the MediaPipe detector's outputs `classificators` and `regressors`."""
    scores = 1 / (1 + np.exp(-np.clip(outputs[0][i, :, 0], -80, 80)))
    numbers = outputs[1][i] / 128
    return best(scores, corners(np.concatenate([anchors(16, 2), anchors(8, 6)]) + numbers[:, :2], numbers[:, 2:4]))


def yunet_boxes(outputs, i):
    """Of the outputs by name: bbox_16, bbox_32, bbox_8, cls_..., kps_..., obj_..."""
    scores, boxes = [], []
    for level, stride in enumerate((16, 32, 8)):
        box, named, _, is_object = (outputs[3 * kind + level][i] for kind in range(4))
        grid = round(len(box) ** 0.5)
        scores.append(np.sqrt(np.clip(named[:, 0], 0, 1) * np.clip(is_object[:, 0], 0, 1)))
        boxes.append(corners((anchors(grid, 1) * grid - 0.5 + box[:, :2]) * stride, np.exp(box[:, 2:]) * stride))
    return best(np.concatenate(scores), np.concatenate(boxes))


def common(boxes_of, reference, outputs):
    """Twice the boxes that both have, as a share of all boxes of both (the F1 score of either beside the other)."""
    same, all_boxes = 0, 0
    for i in range(len(outputs[0])):
        wanted, got = boxes_of(reference, i), boxes_of(outputs, i)
        all_boxes += len(wanted) + len(got)
        left = list(range(len(got)))
        for box in wanted:
            shares = overlap(box, got[left]) if left else np.zeros(1)
            if shares.max() >= SAME:
                same += 1
                left.pop(int(shares.argmax()))
    return 2 * same / all_boxes
