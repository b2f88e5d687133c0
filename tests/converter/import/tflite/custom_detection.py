"""Cases of TFLite_Detection_PostProcess."""
import numpy as np
from custom_case import add, custom


def used_rows(outputs, per_box):
    """Behind the last box, the fast way's rows are whatever was in memory: they are to be zeros."""
    *values, count = outputs
    for value in values:
        value[:, int(count[0]) * per_box:] = 0
    return outputs


def detection(c, anchors=60, classes=4, background=True, columns=4, most=10, per_box=1, regular=False, least=0.3, overlap=0.5,
              per_class=None):
    boxes = c.real_input(c.uniform((1, anchors, columns), -2, 2))
    scores = c.real_input(c.uniform((1, anchors, classes + background), 0, 1))
    places = c.uniform((anchors, 2), 0.1, 0.9)
    sizes = c.uniform((anchors, 2), 0.2, 0.5)
    prior = c.real_const(np.concatenate([places, sizes], 1))
    rows = most * per_box
    outputs = [c.result("float32", shape=shape) for shape in ((1, rows, 4), (1, rows), (1, rows), (1,))]
    options = dict(max_detections=most, max_classes_per_detection=per_box, nms_score_threshold=least, nms_iou_threshold=overlap,
                   num_classes=classes, y_scale=10.0, x_scale=10.0, h_scale=5.0, w_scale=5.0, use_regular_nms=regular)
    if per_class is not None:
        options["detections_per_class"] = per_class
    custom(c, "TFLite_Detection_PostProcess", [boxes, scores, prior], outputs, options)
    return outputs, None if regular else lambda results: used_rows(results, per_box)


for name, forms, parameters in [
        ("fast", "f32 u8", {}),
        ("fast_few", "f32", {"least": 0.97}),
        ("fast_none", "f32", {"least": 1.5}),
        ("fast_no_background", "f32", {"background": False, "columns": 6}),
        ("fast_one_class", "f32 u8", {"classes": 1}),
        ("fast_top_classes", "f32", {"per_box": 3}),
        ("fast_all_classes", "f32", {"per_box": 4, "most": 7}),
        ("fast_all_overlaps", "f32", {"overlap": 1.0, "most": 30}),
        ("regular", "f32", {"regular": True}),
        ("regular_u8", "u8", {"regular": True, "anchors": 30, "classes": 2}),
        ("regular_few", "f32", {"regular": True, "least": 0.97}),
        ("regular_per_class", "f32", {"regular": True, "per_class": 2}),
        ("regular_many", "f32", {"regular": True, "most": 100, "classes": 6, "background": False, "overlap": 0.2})]:
    add("detection_" + name, lambda c, parameters=parameters: detection(c, **parameters), forms)
